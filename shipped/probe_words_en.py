"""Everyday English words that fill the slots of probes."""

PEOPLE = [
    "Anna", "Ben", "Carla", "David", "Emma", "Frank", "Grace", "Henry", "Julia", "Kevin", "Laura",
    "Mark", "Nina", "Oliver", "Paula", "Robert", "Sarah", "Thomas", "Victoria", "William",
]  # fmt: skip
CITIES = [
    "London", "Paris", "Berlin", "Madrid", "Rome", "Tokyo", "Chicago", "Boston", "Toronto",
    "Sydney", "Mumbai", "Cairo", "Moscow", "Dublin", "Vienna", "Lisbon",
]  # fmt: skip
COUNTRIES = [
    "France", "Italy", "Spain", "Canada", "Brazil", "India", "Japan", "Egypt", "Kenya", "Sweden",
    "Poland", "Mexico",
]  # fmt: skip
LANGUAGES = ["French", "Spanish", "German", "Italian", "Russian", "Chinese", "Arabic", "Portuguese"]
COMPANIES = [
    "Google", "Amazon", "Microsoft", "Apple", "Samsung", "Toyota", "Netflix", "Intel", "Nike",
    "Starbucks",
]  # fmt: skip
SERVICES = ["Netflix", "Spotify", "Amazon Prime", "YouTube", "Dropbox", "LinkedIn"]
MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
]  # fmt: skip
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
YEARS = [1912, 1924, 1936, 1948, 1953, 1965, 1971, 1984, 1992, 2003, 2010, 2016]
WORDS_OF = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine",
            10: "ten", 12: "twelve", 15: "fifteen", 20: "twenty", 30: "thirty"}  # fmt: skip
NUMBERS = list(WORDS_OF)
DATES = [number for number in NUMBERS if number <= 28]
"""Days that every month has."""
SPELT = list(WORDS_OF.items())
"""A number in digits and in words."""

FAMILY = [
    "my brother", "the manager", "the little girl", "our neighbour", "the old man", "the teacher",
    "the bus driver", "her sister", "the doctor", "my best friend",
]  # fmt: skip
SKILLS = [
    "speak French", "swim", "drive a car", "play the piano", "ride a horse", "read music",
    "cook", "repair a bicycle",
]  # fmt: skip
LIKED = [
    "coffee", "classical music", "long walks", "spicy food", "horror films", "cats", "football",
    "working at night",
]  # fmt: skip

OPPOSITES = [
    ("the soup", "hot", "cold"), ("the exam", "easy", "difficult"),
    ("the road", "wide", "narrow"), ("the box", "heavy", "light"),
    ("the room", "dark", "bright"), ("the water", "deep", "shallow"),
    ("the street", "noisy", "quiet"), ("the knife", "sharp", "blunt"),
    ("the flat", "cheap", "expensive"), ("the floor", "clean", "dirty"),
    ("the towel", "wet", "dry"), ("the film", "boring", "exciting"),
    ("the bridge", "safe", "dangerous"), ("the mattress", "soft", "hard"),
    ("the dog", "friendly", "aggressive"), ("the train", "fast", "slow"),
    ("the wall", "thick", "thin"), ("the bottle", "full", "empty"),
    ("the tea", "strong", "weak"), ("the fence", "high", "low"),
    ("the jacket", "old", "new"), ("the trip", "short", "long"),
]  # fmt: skip
"""A thing and two ways to be that exclude each other."""
ALTERNATIVES = [
    ("the shop", "open", "closed"), ("the window", "open", "closed"),
    ("the baby", "awake", "asleep"), ("the statement", "true", "false"),
    ("the answer", "right", "wrong"), ("the answer", "correct", "incorrect"),
    ("the plant", "alive", "dead"), ("the contract", "legal", "illegal"),
    ("the plan", "possible", "impossible"), ("the list", "complete", "incomplete"),
    ("the star", "visible", "invisible"), ("the office", "occupied", "vacant"),
]  # fmt: skip
"""A thing and two ways to be of which it must have one: not the first means the second."""
SYNONYMS = [
    ("the house", "big", "large"), ("the exam", "hard", "difficult"), ("the child", "sick", "ill"),
    ("the test", "easy", "simple"), ("the man", "rich", "wealthy"), ("the shop", "closed", "shut"),
    ("the boy", "clever", "smart"), ("the answer", "wrong", "incorrect"),
    ("the answer", "right", "correct"), ("the street", "very small", "tiny"),
    ("the story", "well known", "famous"), ("the floor", "wet", "not dry"),
    ("the bridge", "unsafe", "not safe"), ("the girl", "happy", "glad"),
]  # fmt: skip
