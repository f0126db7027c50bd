"""The APIs of other servers, which their clients can use unchanged, and our own."""
