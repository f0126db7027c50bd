"""A report on an index: what a file of queries says of it, as data and as a page to send."""
