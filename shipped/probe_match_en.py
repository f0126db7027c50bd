"""Probes of English paraphrase matching: 1 for the same meaning, 0 for another."""

from probe_frames import Edited, Frame, Kinds, Two
from probe_words_en import (
    ALTERNATIVES,
    CITIES,
    COMPANIES,
    COUNTRIES,
    DATES,
    DAYS,
    FAMILY,
    LANGUAGES,
    LIKED,
    MONTHS,
    NUMBERS,
    OPPOSITES,
    PEOPLE,
    SERVICES,
    SKILLS,
    SPELT,
    SYNONYMS,
    YEARS,
)  # fmt: skip

STATES = [
    "working today", "coming to the party", "afraid of dogs", "ready to leave", "allowed to vote",
    "happy with the result", "at home", "interested in the job",
]  # fmt: skip
DONE = ["been to Japan", "eaten sushi", "seen snow", "broken a bone", "flown in a helicopter"]
STORED = ["milk", "butter", "bread", "sugar", "coffee", "soap"]
PLACES = ["the kitchen", "the shop", "the cupboard", "the hotel room"]
HAPPENED = ["answered the phone", "came to the meeting", "knew the answer", "saw the accident"]
FOODS_FOR = ["the heart", "small children", "the skin", "cats", "the teeth", "people with diabetes"]
EVENTS = ["a marathon", "a blood test", "an operation", "a long flight", "going to bed"]
CHANGES = [
    ("increase", "decrease", "the volume"), ("increase", "decrease", "the font size"),
    ("raise", "lower", "my body temperature"), ("turn on", "turn off", "notifications"),
    ("turn on", "turn off", "automatic updates"), ("turn on", "turn off", "the heating"),
    ("install", "uninstall", "an app"), ("install", "uninstall", "the printer driver"),
    ("open", "close", "a bank account"), ("buy", "sell", "a used car"),
    ("buy", "sell", "old coins"), ("lock", "unlock", "my phone"), ("gain", "lose", "weight"),
    ("accept", "decline", "a job offer"), ("join", "leave", "a group chat"),
    ("follow", "unfollow", "someone"), ("shorten", "lengthen", "a skirt"),
    ("hide", "show", "hidden files"), ("enable", "disable", "location tracking"),
]  # fmt: skip
SAME_ACTS = [
    ("delete", "remove", "a file"), ("fix", "repair", "a broken screen"),
    ("fix", "repair", "a leaking pipe"), ("buy", "purchase", "a train ticket"),
    ("begin", "start", "a business"), ("find", "locate", "my lost phone"),
    ("get", "obtain", "a driving licence"), ("build", "construct", "a small house"),
    ("choose", "pick", "a good password"), ("close", "shut", "the roof window"),
]  # fmt: skip
ACTS = [
    "learn to swim", "remove a coffee stain", "reset my password", "boil an egg", "tie a tie",
    "open a bank account", "change a flat tyre", "write a cover letter", "grow tomatoes at home",
    "get rid of ants", "renew my passport", "save money as a student",
]  # fmt: skip
COST = ["a new iPhone", "a driving licence", "a ticket to the zoo", "a wedding cake", "a piano"]
STARTS = ["the concert", "the football match", "the film"]
BOOKS = ["Hamlet", "War and Peace", "Animal Farm", "Dracula", "Frankenstein", "Don Quixote"]
HIGH = ["the Eiffel Tower", "Mount Everest", "the tallest man", "a giraffe", "the White House"]
REASONS = [
    ("it was raining", "we stayed at home"), ("the bus was late", "I missed the train"),
    ("the shop was closed", "we could not buy bread"), ("the car broke down", "we had to walk"),
    ("the music was too loud", "nobody could sleep"), ("the road was icy", "he drove slowly"),
    ("she had a headache", "she went to bed early"), ("the film was sold out", "we went home"),
]  # fmt: skip
CONVERTED = [
    ("dollars", "euros"), ("kilometres", "miles"), ("Celsius", "Fahrenheit"), ("PDF", "Word"),
    ("pounds", "kilograms"), ("MP4", "MP3"), ("inches", "centimetres"),
]  # fmt: skip
ANIMALS = ["dog", "cat", "fox", "horse", "goat", "wolf", "goose", "bear"]
MET = [("chased", "chased"), ("bit", "bitten"), ("followed", "followed"), ("attacked", "attacked")]
EQUAL_AMOUNTS = [
    ("60 minutes", "one hour"), ("30 minutes", "half an hour"), ("14 days", "two weeks"),
    ("24 hours", "one day"), ("10 years", "a decade"), ("12 months", "one year"),
    ("90 minutes", "an hour and a half"), ("120 minutes", "two hours"), ("7 days", "one week"),
]  # fmt: skip
PLACE_ALIASES = [
    ("New York City", "NYC"), ("the United States", "the USA"), ("the United Kingdom", "the UK"),
    ("Los Angeles", "LA"), ("the United Arab Emirates", "the UAE"),
]  # fmt: skip
BODY_ALIASES = [
    ("the United Nations", "the UN"), ("the European Union", "the EU"),
    ("the World Health Organization", "the WHO"), ("the Central Intelligence Agency", "the CIA"),
    ("the Federal Bureau of Investigation", "the FBI"),
    ("the National Basketball Association", "the NBA"),
]  # fmt: skip
CLAUSES = [
    ("I ordered a washing machine from your website three weeks ago.",
     "Three weeks ago I bought a washing machine on your website.",
     "I returned a washing machine to your shop three days ago."),
    ("The delivery was supposed to arrive last Tuesday before noon.",
     "The delivery should have come last Tuesday in the morning.",
     "The delivery arrived last Tuesday exactly at noon as promised."),
    ("The driver called me and said that he could not find the house.",
     "The driver phoned me to say that he was unable to find the house.",
     "The driver found the house at once and did not need to call."),
    ("My neighbour helped me to carry the heavy box up the stairs.",
     "The man next door helped me to get the heavy box upstairs.",
     "My neighbour refused to help me with the heavy box."),
    ("When we opened the box, one of the doors was broken.",
     "One door was broken when the box was opened.",
     "When we opened the box, everything was in perfect condition."),
    ("I sent you four photographs of the damage the same evening.",
     "That same evening I emailed you four pictures of the damage.",
     "I did not send you any photographs of the damage."),
    ("Your customer service has not replied to my messages.",
     "I have not received any reply from your customer service.",
     "Your customer service replied to my messages within an hour."),
    ("I am very unhappy with how this was handled.",
     "I am not at all satisfied with the way you dealt with this.",
     "I am very happy with how this was handled."),
    ("I would like to get my money back as soon as possible.",
     "Please refund me as soon as you can.",
     "I do not want my money back, only a new machine."),
    ("The amount of 450 dollars was taken from my account at once.",
     "450 dollars were immediately taken from my account.",
     "Nothing has been taken from my account so far."),
    ("We live on the fifth floor and there is no lift in the building.",
     "Our flat is on the fifth floor of a house without a lift.",
     "We live on the ground floor, so no lift is needed."),
    ("My husband is at home every day except on Thursdays.",
     "On every day but Thursday my husband is at home.",
     "My husband is at home only on Thursdays."),
    ("The old machine still works, but it makes a terrible noise.",
     "The old machine is still working, although it is terribly loud.",
     "The old machine is completely broken and makes no sound."),
    ("We have bought all our furniture from you for many years.",
     "For many years we have been buying all our furniture from you.",
     "We have never bought anything from you before."),
    ("My phone number has changed since I placed the order.",
     "Since ordering I have got a new phone number.",
     "My phone number is still the same as in the order."),
    ("Please call me in the evening, because I work during the day.",
     "I work in the daytime, so please phone me in the evening.",
     "Please never call me in the evening, because I work at night."),
]  # fmt: skip
APART = [
    "How do I reset my password?", "The cat is sleeping on the sofa.",
    "What is the capital of Peru?",
    "My grandmother bakes bread every Sunday.", "Which vitamins are good for the eyes?",
    "The company will publish its results next week.", "How can I learn to play the violin?",
    "Two boys are swimming in the lake.", "Why do leaves turn red in autumn?",
    "The court rejected the appeal.", "What should I wear to a job interview?",
    "Our flight to Rome was cancelled.", "How long does it take to boil an egg?",
    "The new bridge is closed to trucks.", "Who painted the Mona Lisa?",
    "She lost her keys in the park.", "Is it safe to drink water from the tap in Mexico?",
    "The farmers are waiting for rain.", "How do I remove a virus from my laptop?",
    "He plays chess with his uncle.",
]  # fmt: skip

NEGATION = {
    "0": (50, [
        Frame("{who} is {state}.", "{who} is not {state}.", {"who": FAMILY, "state": STATES}),
        Frame("{who} can {skill}.", "{who} cannot {skill}.", {"who": FAMILY, "skill": SKILLS}),
        Frame("{who} has {done}.", "{who} has never {done}.", {"who": FAMILY, "done": DONE}),
        Frame("{who} likes {x}.", "{who} does not like {x}.", {"who": FAMILY, "x": LIKED}),
        Frame("There is {x} in {place}.", "There is no {x} in {place}.",
              {"x": STORED, "place": PLACES}),
        Frame("Which foods are good for {x}?", "Which foods are not good for {x}?",
              {"x": FOODS_FOR}),
        Frame("What should I eat before {x}?", "What should I not eat before {x}?",
              {"x": EVENTS}),
    ]),
    "1": (30, [
        Frame("{who} is not {state}.", "{who} isn't {state}.", {"who": FAMILY, "state": STATES}),
        Frame("{who} cannot {skill}.", "{who} is not able to {skill}.",
              {"who": FAMILY, "skill": SKILLS}),
        Frame("There is no {x} in {place}.", "There isn't any {x} in {place}.",
              {"x": STORED, "place": PLACES}),
        Frame("Nobody {x}.", "No one {x}.", {"x": HAPPENED}),
        Frame("{x[0]} is not {x[1]}.", "{x[0]} is {x[2]}.", {"x": ALTERNATIVES}),
    ]),
}  # fmt: skip
ANTONYM = {
    "0": (50, [
        Frame("I think {x[0]} is {x[1]}.", "I think {x[0]} is {x[2]}.", {"x": OPPOSITES}),
        Frame("Why is {x[0]} so {x[1]}?", "Why is {x[0]} so {x[2]}?", {"x": OPPOSITES}),
        Frame("She told me that {x[0]} was {x[1]}.", "She told me that {x[0]} was {x[2]}.",
              {"x": OPPOSITES}),
        Frame("How do I {x[0]} {x[2]}?", "How do I {x[1]} {x[2]}?", {"x": CHANGES}),
        Frame("What is the easiest way to {x[0]} {x[2]}?",
              "What is the easiest way to {x[1]} {x[2]}?", {"x": CHANGES}),
    ]),
    "1": (30, [
        Frame("{x[0]} is {x[1]}.", "{x[0]} is {x[2]}.", {"x": SYNONYMS}),
        Frame("How do I {x[0]} {x[2]}?", "How do I {x[1]} {x[2]}?", {"x": SAME_ACTS}),
        Frame("I would like to {x[0]} {x[2]}.", "I would like to {x[1]} {x[2]}.",
              {"x": SAME_ACTS}),
    ]),
}  # fmt: skip
NUMBER = {
    "0": (50, [
        Frame("The ticket costs {n[0]} dollars.", "The ticket costs {n[1]} dollars.",
              {"n": Two(NUMBERS)}),
        Frame("{who} has {n[0][1]} grandchildren.", "{who} has {n[1][1]} grandchildren.",
              {"who": FAMILY[3:6], "n": Two(SPELT)}),
        Frame("How many calories are in {n[0]} eggs?", "How many calories are in {n[1]} eggs?",
              {"n": Two(NUMBERS)}),
        Frame("The school was founded in {n[0]}.", "The school was founded in {n[1]}.",
              {"n": Two(YEARS)}),
        Frame("The exam is on {d[0]}.", "The exam is on {d[1]}.", {"d": Two(DAYS)}),
        Frame("My birthday is on {m[0]} {n}.", "My birthday is on {m[1]} {n}.",
              {"m": Two(MONTHS), "n": DATES}),
        Frame("We walked {n} kilometres.", "We walked {n} miles.", {"n": NUMBERS}),
        Frame("Add {n} grams of sugar.", "Add {n} kilograms of sugar.", {"n": NUMBERS}),
        Frame("The course takes {n[1]} weeks.", "The course takes {n[1]} months.", {"n": SPELT}),
        Frame("It is {n[0]} degrees outside.", "It is {n[1]} degrees outside.",
              {"n": Two(NUMBERS)}),
    ]),
    "1": (30, [
        Frame("The ticket costs {n[0]} dollars.", "The ticket costs {n[1]} dollars.", {"n": SPELT}),
        Frame("The rent went up by {n} percent.", "The rent went up by {n}%.", {"n": NUMBERS}),
        Frame("My birthday is on {m} {n}.", "My birthday is on {n} {m}.",
              {"m": MONTHS, "n": DATES}),
        Frame("I waited for {x[0]}.", "I waited for {x[1]}.", {"x": EQUAL_AMOUNTS}),
        Frame("Her uncle is {n[0]} years older.", "Her uncle is {n[1]} years older.", {"n": SPELT}),
    ]),
}  # fmt: skip
ORDER = {
    "0": (50, [
        Frame("{p[0]} is taller than {p[1]}.", "{p[1]} is taller than {p[0]}.", {"p": Two(PEOPLE)}),
        Frame("{p[0]} borrowed money from {p[1]}.", "{p[1]} borrowed money from {p[0]}.",
              {"p": Two(PEOPLE)}),
        Frame("{p[0]} sold the car to {p[1]}.", "{p[1]} sold the car to {p[0]}.",
              {"p": Two(PEOPLE)}),
        Frame("{p[0]} arrived before {p[1]}.", "{p[1]} arrived before {p[0]}.", {"p": Two(PEOPLE)}),
        Frame("The {a[0]} {v[0]} the {a[1]}.", "The {a[1]} {v[0]} the {a[0]}.",
              {"a": Two(ANIMALS), "v": MET}),
        Frame("How do I get from {c[0]} to {c[1]}?", "How do I get from {c[1]} to {c[0]}?",
              {"c": Two(CITIES)}),
        Frame("What is the cheapest flight from {c[0]} to {c[1]}?",
              "What is the cheapest flight from {c[1]} to {c[0]}?", {"c": Two(CITIES)}),
        Frame("How do I convert {x[0]} to {x[1]}?", "How do I convert {x[1]} to {x[0]}?",
              {"x": CONVERTED}),
    ]),
    "1": (30, [
        Frame("The {a[0]} {v[0]} the {a[1]}.", "The {a[1]} was {v[1]} by the {a[0]}.",
              {"a": Two(ANIMALS), "v": MET}),
        Frame("{p[0]} is taller than {p[1]}.", "{p[1]} is shorter than {p[0]}.",
              {"p": Two(PEOPLE)}),
        Frame("{p[0]} sold the car to {p[1]}.", "{p[1]} bought the car from {p[0]}.",
              {"p": Two(PEOPLE)}),
        Frame("{p[0]} arrived before {p[1]}.", "{p[1]} arrived after {p[0]}.", {"p": Two(PEOPLE)}),
        Frame("{p[0]} and {p[1]} went to the cinema.", "{p[1]} and {p[0]} went to the cinema.",
              {"p": Two(PEOPLE)}),
        Frame("How do I get from {c[0]} to {c[1]}?", "How do I get to {c[1]} from {c[0]}?",
              {"c": Two(CITIES)}),
    ]),
}  # fmt: skip
NAME = {
    "0": (50, [
        Frame("{p[0]} won the first prize.", "{p[1]} won the first prize.", {"p": Two(PEOPLE)}),
        Frame("{p} was born in {c[0]}.", "{p} was born in {c[1]}.",
              {"p": PEOPLE, "c": Two(CITIES)}),
        Frame("What is the weather like in {c[0]}?", "What is the weather like in {c[1]}?",
              {"c": Two(CITIES)}),
        Frame("Who is the CEO of {c[0]}?", "Who is the CEO of {c[1]}?", {"c": Two(COMPANIES)}),
        Frame("What is the capital of {c[0]}?", "What is the capital of {c[1]}?",
              {"c": Two(COUNTRIES)}),
        Frame("How do I cancel my {s[0]} subscription?", "How do I cancel my {s[1]} subscription?",
              {"s": Two(SERVICES)}),
        Frame("What is the best way to learn {x[0]}?", "What is the best way to learn {x[1]}?",
              {"x": Two(LANGUAGES)}),
    ]),
    "1": (30, [
        Frame("How many people live in {x[0]}?", "How many people live in {x[1]}?",
              {"x": PLACE_ALIASES}),
        Frame("When was {x[0]} founded?", "When was {x[1]} founded?", {"x": BODY_ALIASES}),
        Frame("{p} won the first prize.", "The first prize was won by {p}.", {"p": PEOPLE}),
        Frame("What is the capital of {c}?", "Which city is the capital of {c}?",
              {"c": COUNTRIES}),
        Frame("Who is the CEO of {c}?", "Who is {c}'s CEO?", {"c": COMPANIES}),
    ]),
}  # fmt: skip
PARAPHRASE = {
    "1": (80, [
        Frame("How do I {x}?", "Could you tell me how to {x}?", {"x": ACTS}),
        Frame("How can I {x}?", "What do I have to do to {x}?", {"x": ACTS}),
        Frame("How much does {x} cost?", "What is the price of {x}?", {"x": COST}),
        Frame("When does {x} start?", "At what time does {x} begin?", {"x": STARTS}),
        Frame("Where was {p} born?", "What is the birthplace of {p}?",
              {"p": ["Mozart", "Einstein", "Picasso", "Gandhi", "Columbus", "Shakespeare"]}),
        Frame("Who wrote {x}?", "Who is the author of {x}?", {"x": BOOKS}),
        Frame("How tall is {x}?", "What is the height of {x}?", {"x": HIGH}),
        Frame("How far is {c[0]} from {c[1]}?", "What is the distance between {c[0]} and {c[1]}?",
              {"c": Two(CITIES)}),
        Frame("How many people live in {c}?", "What is the population of {c}?", {"c": CITIES}),
        Frame("Because {x[0]}, {x[1]}.", "{x[1]} because {x[0]}.", {"x": REASONS}),
        Frame("{p[0]} gave {p[1]} a {x}.", "{p[0]} gave a {x} to {p[1]}.",
              {"p": Two(PEOPLE), "x": ["book", "ring", "bicycle", "watch", "guitar"]}),
    ]),
}  # fmt: skip
UNRELATED = {"0": (60, [Frame("{x[0]}", "{x[1]}", {"x": Two(APART)})])}

KINDS: Kinds = {
    "negation": NEGATION,
    "antonym": ANTONYM,
    "number": NUMBER,
    "order": ORDER,
    "name": NAME,
    "length": {
        "0": (40, [Edited(CLAUSES, 2, (7, 12), " ")]),
        "1": (40, [Edited(CLAUSES, 1, (7, 12), " ")]),
    },
    "paraphrase": PARAPHRASE,
    "unrelated": UNRELATED,
}
