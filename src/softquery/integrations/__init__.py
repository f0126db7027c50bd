"""Other people's frameworks, one file each; each needs its package, and nothing else imports it."""
