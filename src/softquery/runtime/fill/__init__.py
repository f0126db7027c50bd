"""Words for masks: what may stand where a word was hidden."""
