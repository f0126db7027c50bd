"""Classes from a table: by a head in seconds, or by fine-tuning where that does better."""

from softquery.running.spreadsheet.class_head import seconds_for, train_head
from softquery.running.spreadsheet.labelled_rows import LabelledTable
from softquery.running.spreadsheet.sheet_options import SheetOptions, Trained


def train_classes(
    table: LabelledTable, dev: LabelledTable | None, options: SheetOptions
) -> Trained:
    """Train what fits the number of rows.

    Args:
        table: The rows.
        dev: Those to measure on, where they are given.
        options: Where it writes, and what it stands on.
    """
    options.say(f"a head on a sentence encoder: about {seconds_for(len(table.rows)):.0f} seconds")
    return train_head(table, dev, options)
