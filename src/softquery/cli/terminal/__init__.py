"""What the verbs share: options, printing, progress, files of answers and of bad rows."""
