"""What changes an index: rows are added, replaced, deleted and rebuilt; duplicates are found."""
