"""The habits of other servers' clients, one file each, and our own."""
