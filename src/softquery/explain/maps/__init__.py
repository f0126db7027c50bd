"""Pictures and pages of a text that asks another, or itself, by layer and head."""
