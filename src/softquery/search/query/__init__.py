"""What happens to a query: the models that read it, the stages of a search, its steps."""
