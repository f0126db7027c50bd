"""From a spreadsheet to a working model: columns, splits, a model that fits, and a report."""
