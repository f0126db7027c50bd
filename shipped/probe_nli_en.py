"""Probes of English inference: what a sentence says, rules out, or leaves open."""

from probe_frames import Asked, Frame, Kinds, Two
from probe_words_en import (
    ALTERNATIVES,
    CITIES,
    DAYS,
    OPPOSITES,
    PEOPLE,
    SPELT,
    SYNONYMS,
    YEARS,
)  # fmt: skip

E, N, C = "entailment", "neutral", "contradiction"

WHO = [
    "the man", "the young girl", "the woman in the red coat", "the boy", "the old man",
    "the street musician", "the tall woman", "the child",
]  # fmt: skip
DOING = [
    "sleeping on a bench", "riding a bicycle", "playing the guitar", "eating an apple",
    "reading a newspaper", "climbing a wall", "holding an umbrella", "looking at the camera",
    "crossing the street", "talking on the phone",
]  # fmt: skip
UNSAID = [
    "a good singer", "allergic to cats", "from Spain", "famous", "left-handed",
    "an only child", "a vegetarian",
    "afraid of spiders", "late for an appointment", "in love",
]  # fmt: skip
"""What no scene shows."""
OWNED = [
    "has two brothers", "owns a boat", "was born in May", "likes chocolate", "speaks Italian",
    "lives near the sea", "has been to Norway", "will move to another city next year",
]  # fmt: skip
GROUPS = ["two women", "some children", "several tourists", "three men", "a few students"]
ROOMS = ["the kitchen", "the garden", "the classroom", "the park", "the waiting room", "the bus"]
WORN = ["a hat", "a helmet", "a scarf", "a jacket", "gloves", "sunglasses"]
OPPOSITE_ACTS = [
    ("entering the building", "leaving the building"), ("opening the window", "closing the window"),
    ("going up the stairs", "going down the stairs"), ("putting on a coat", "taking off a coat"),
    ("pushing the cart", "pulling the cart"),
    ("standing inside the house", "standing outside the house"),
    ("standing in front of the car", "standing behind the car"),
    ("lifting the box", "putting the box down"),
    ("sitting on the table", "sitting under the table"),
    ("getting on the train", "getting off the train"),
    ("walking towards the house", "walking away from the house"), ("turning left", "turning right"),
]  # fmt: skip
SAME_ACTS = [
    ("speaking to a friend", "talking to a friend"), ("shouting at a dog", "yelling at a dog"),
    ("sitting on a couch", "sitting on a sofa"), ("riding a bicycle", "riding a bike"),
    ("taking a photograph", "taking a picture"), ("taking a nap", "sleeping"),
    ("repairing a car", "fixing a car"), ("watching television", "watching TV"),
]  # fmt: skip
NARROWER = [
    ("eating an apple", "eating a fruit"), ("playing the guitar", "playing an instrument"),
    ("walking a poodle", "walking a dog"), ("feeding a parrot", "feeding a bird"),
    ("driving a truck", "driving a vehicle"), ("playing football", "playing a sport"),
    ("holding a hammer", "holding a tool"), ("buying roses", "buying flowers"),
]  # fmt: skip
"""Two ways to tell of an act, the first of which says more."""
THINGS = ["horses", "cows", "chairs", "bottles", "bicycles", "candles"]
PLACES = ["in the field", "near the wall", "behind the house", "in the yard"]
FEW, MANY = SPELT[:4], SPELT[5:10]
BUILT = ["the house", "the church", "the theatre", "the bridge", "the factory"]
RELATIONS = [
    ("is taller than", "is shorter than"), ("is older than", "is younger than"),
    ("arrived before", "arrived after"), ("is standing behind", "is standing in front of"),
    ("is the boss of", "works under"), ("runs faster than", "runs slower than"),
    ("earns more than", "earns less than"),
]  # fmt: skip
"""How two people stand to each other, and the same told from the other's side."""
CARRYING = [
    ("carrying", "being carried by"),
    ("giving a piggyback ride to", "getting a piggyback ride from"),
    ("lifting up", "being lifted up by"),
]  # fmt: skip
ONE_WAY = ["looking at", "waving at", "pointing at", "smiling at", "listening to", "thinking of"]
"""What one does to another who may or may not do the same."""
GIVEN = ["a book", "a letter", "a ring", "a ticket", "some money"]
PETS = ["Max", "Rocky", "Bella", "Luna", "Charlie", "Daisy"]
FACTS = [
    ("The small shop on the corner sells fresh bread and cakes every morning.",
     "The shop on the corner sells bread.", "The shop on the corner does not sell any bread.",
     "The shop on the corner belongs to a young couple."),
    ("An old man in a grey coat is sitting alone on a bench near the fountain.",
     "A man is sitting on a bench.", "Nobody is sitting on the bench near the fountain.",
     "The old man is waiting for his wife."),
    ("Two girls with blue backpacks are waiting for the bus in front of the school.",
     "Two girls are waiting for the bus.", "The two girls are wearing green backpacks.",
     "The two girls are sisters."),
    ("The tall policeman is helping a woman to cross the busy street.",
     "A policeman is helping a woman.", "The policeman is short.",
     "The woman is on her way to the doctor."),
    ("A black dog is lying under the wooden table and is fast asleep.",
     "A dog is sleeping.", "The dog under the table is wide awake.",
     "The dog under the table is five years old."),
    ("The waiter has just brought three cups of coffee to the guests by the window.",
     "The waiter brought coffee.", "The guests by the window received nothing but tea.",
     "The guests by the window come from Portugal."),
    ("A red car with a broken headlight is parked next to the post office.",
     "A car is parked next to the post office.", "The car next to the post office is blue.",
     "The red car belongs to a dentist."),
    ("The street musician in the green shirt is playing the violin for a large crowd.",
     "A musician is playing for a crowd.", "Nobody is listening to the street musician.",
     "The street musician is saving money for a house."),
    ("A young mother is pushing her baby through the park in a white stroller.",
     "A mother is in the park with her baby.", "The stroller in the park is black.",
     "The baby in the stroller is called Peter."),
    ("The gardener is cutting the hedge with a pair of large scissors.",
     "The gardener is cutting the hedge.", "The gardener is cutting the hedge with a saw.",
     "The gardener has worked here for ten years."),
    ("Several workers in yellow helmets are repairing the roof of the church.",
     "Workers are repairing a roof.", "The workers on the roof are wearing no helmets.",
     "The workers on the roof will finish next week."),
    ("A boy has climbed the tall apple tree and cannot get down.",
     "A boy is in a tree.", "The boy in the apple tree has no trouble getting down.",
     "The boy in the apple tree is good at mathematics."),
    ("The clock on the tower of the town hall shows exactly five o'clock.",
     "The clock on the tower shows five o'clock.", "The clock on the tower shows nine o'clock.",
     "The clock on the tower was made in Switzerland."),
    ("An elderly couple is feeding the ducks at the edge of the frozen pond.",
     "A couple is feeding ducks.", "The pond with the ducks is not frozen.",
     "The elderly couple has been married for fifty years."),
]  # fmt: skip
"""A scene's part, what follows from it, what it rules out, and what it leaves open."""

NEGATION = {
    C: (40, [
        Frame("{who} is {x}.", "{who} is not {x}.", {"who": WHO, "x": DOING}),
        Frame("There are {g} in {r}.", "There is nobody in {r}.", {"g": GROUPS, "r": ROOMS}),
        Frame("{who} is wearing {x}.", "{who} is not wearing {x}.", {"who": WHO, "x": WORN}),
        Frame("{who} is not {x}.", "{who} is {x}.", {"who": WHO, "x": DOING}),
    ]),
    E: (25, [
        Frame("{x[0]} is {x[1]}.", "{x[0]} is not {x[2]}.", {"x": ALTERNATIVES}),
        Frame("There is nobody in {r}.", "There are no people in {r}.", {"r": ROOMS}),
        Frame("{who} is not wearing {x}.", "{who} does not have {x} on.",
              {"who": WHO, "x": WORN}),
        Frame("{who} is not {x}.", "{who} isn't {x}.", {"who": WHO, "x": DOING}),
    ]),
    N: (15, [
        Frame("{who} is {x}.", "{who} is not {y}.", {"who": WHO, "x": DOING, "y": UNSAID}),
    ]),
}  # fmt: skip
ANTONYM = {
    C: (40, [
        Frame("{who} is {x[0]}.", "{who} is {x[1]}.", {"who": WHO, "x": OPPOSITE_ACTS}),
        Frame("{x[0]} is {x[1]}.", "{x[0]} is {x[2]}.", {"x": OPPOSITES}),
    ]),
    E: (25, [
        Frame("{who} is {x[0]}.", "{who} is {x[1]}.", {"who": WHO, "x": SAME_ACTS}),
        Frame("{who} is {x[0]}.", "{who} is {x[1]}.", {"who": WHO, "x": NARROWER}),
        Frame("{x[0]} is {x[1]}.", "{x[0]} is {x[2]}.", {"x": SYNONYMS}),
    ]),
    N: (15, [Frame("{who} is {x[1]}.", "{who} is {x[0]}.", {"who": WHO, "x": NARROWER})]),
}  # fmt: skip
NUMBER = {
    C: (35, [
        Frame("There are exactly {n[0][1]} {x} {y}.", "There are {n[1][1]} {x} {y}.",
              {"n": [(few, many) for few in FEW for many in MANY], "x": THINGS, "y": PLACES}),
        Frame("There are exactly {n[1]} {x} {y}.", "There are more than thirty {x} {y}.",
              {"n": SPELT[:10], "x": THINGS, "y": PLACES}),
        Frame("{x} was built in {n[0]}.", "{x} was built in {n[1]}.",
              {"x": BUILT, "n": Two(YEARS)}),
        Frame("The wedding is on {d[0]}.", "The wedding is on {d[1]}.", {"d": Two(DAYS)}),
    ]),
    E: (30, [
        Frame("There are exactly {n[1][1]} {x} {y}.", "There are at least {n[0][1]} {x} {y}.",
              {"n": [(few, many) for few in FEW for many in MANY], "x": THINGS, "y": PLACES}),
        Frame("There are exactly {n[0][1]} {x} {y}.", "There are fewer than {n[1][1]} {x} {y}.",
              {"n": [(few, many) for few in FEW for many in MANY], "x": THINGS, "y": PLACES}),
        Frame("There are exactly {n[0]} {x} {y}.", "There are exactly {n[1]} {x} {y}.",
              {"n": SPELT, "x": THINGS, "y": PLACES}),
        Frame("{x} was built in {n}.", "{x} was built before 2020.", {"x": BUILT, "n": YEARS}),
    ]),
    N: (15, [
        Frame("There are at least {n[0][1]} {x} {y}.", "There are exactly {n[1][1]} {x} {y}.",
              {"n": [(few, many) for few in FEW for many in MANY], "x": THINGS, "y": PLACES}),
        Frame("There are some {x} {y}.", "There are {n[1]} {x} {y}.",
              {"n": SPELT[3:], "x": THINGS, "y": PLACES}),
        Frame("{x} was built after 1900.", "{x} was built in {n}.", {"x": BUILT, "n": YEARS}),
    ]),
}  # fmt: skip
ORDER = {
    C: (30, [
        Frame("{p[0]} {r[0]} {p[1]}.", "{p[1]} {r[0]} {p[0]}.",
              {"p": Two(PEOPLE), "r": RELATIONS}),
        Frame("{p[0]} is {r[0]} {p[1]}.", "{p[1]} is {r[0]} {p[0]}.",
              {"p": Two(WHO), "r": CARRYING}),
    ]),
    E: (30, [
        Frame("{p[0]} {r[0]} {p[1]}.", "{p[1]} {r[1]} {p[0]}.",
              {"p": Two(PEOPLE), "r": RELATIONS}),
        Frame("{p[0]} is {r[0]} {p[1]}.", "{p[1]} is {r[1]} {p[0]}.",
              {"p": Two(WHO), "r": CARRYING}),
        Frame("{p[0]} gave {x} to {p[1]}.", "{p[1]} got {x} from {p[0]}.",
              {"p": Two(PEOPLE), "x": GIVEN}),
    ]),
    N: (20, [
        Frame("{p[0]} is {x} {p[1]}.", "{p[1]} is {x} {p[0]}.", {"p": Two(WHO), "x": ONE_WAY}),
        Frame("{p[0]} gave {x} to {p[1]}.", "{p[1]} gave {x} to {p[0]}.",
              {"p": Two(PEOPLE), "x": GIVEN}),
    ]),
}  # fmt: skip
NAME = {
    C: (30, [
        Frame("{p} was born in {c[0]}.", "{p} was born in {c[1]}.",
              {"p": PEOPLE, "c": Two(CITIES)}),
        Frame("The only winner of the race was {p[0]}.", "{p[1]} won the race.",
              {"p": Two(PEOPLE)}),
        Frame("The only person in the room is {p[0]}.", "{p[1]} is in the room.",
              {"p": Two(PEOPLE)}),
        Frame("The name of the brown dog is {p[0]}.", "The name of the brown dog is {p[1]}.",
              {"p": Two(PETS)}),
    ]),
    E: (30, [
        Frame("{p} was born in {c}.", "{p}'s place of birth is {c}.", {"p": PEOPLE, "c": CITIES}),
        Frame("{p[0]} and {p[1]} are waiting for the bus.", "{p[1]} is waiting for the bus.",
              {"p": Two(PEOPLE)}),
        Frame("The only winner of the race was {p}.", "{p} won the race.", {"p": PEOPLE}),
    ]),
    N: (20, [
        Frame("{p[0]} is {x}.", "{p[1]} is {x}.", {"p": Two(PEOPLE), "x": DOING}),
        Frame("{p[0]} comes from {c}.", "{p[1]} comes from {c}.", {"p": Two(PEOPLE), "c": CITIES}),
    ]),
}  # fmt: skip
PARAPHRASE = {
    E: (80, [
        Frame("{who} is {x}.", "It is {who} who is {x}.", {"who": WHO, "x": DOING}),
        Frame("There are {g} in {r}.", "In {r} there are {g}.", {"g": GROUPS, "r": ROOMS}),
        Frame("{who} is wearing {x}.", "{who} has {x} on.", {"who": WHO, "x": WORN}),
        Frame("{p[0]} gave {p[1]} {x}.", "{p[1]} received {x} from {p[0]}.",
              {"p": Two(PEOPLE), "x": GIVEN}),
        Frame("{who} is {x[0]}.", "{who} is {x[1]}.", {"who": WHO, "x": SAME_ACTS}),
        Frame("{who} is {x}.", "Somebody is {x}.", {"who": WHO, "x": DOING}),
    ]),
}  # fmt: skip
UNSTATED = {
    N: (60, [
        Frame("{who} is {x}.", "{who} is {y}.", {"who": WHO, "x": DOING, "y": UNSAID}),
        Frame("{who} is {x}.", "{who} {y}.", {"who": WHO, "x": DOING, "y": OWNED}),
    ]),
}  # fmt: skip

KINDS: Kinds = {
    "negation": NEGATION,
    "antonym": ANTONYM,
    "number": NUMBER,
    "order": ORDER,
    "name": NAME,
    "length": {
        C: (27, [Asked(FACTS, 2, (5, 10), " ")]),
        E: (27, [Asked(FACTS, 1, (5, 10), " ")]),
        N: (26, [Asked(FACTS, 3, (5, 10), " ")]),
    },
    "paraphrase": PARAPHRASE,
    "unstated": UNSTATED,
}
