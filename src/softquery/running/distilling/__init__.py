"""From a large sentence encoder to a small one: teachers, lessons, students."""
