"""Chinese texts with roles turned round, words inserted, or nothing but the wording changed."""

import random
import re
from collections.abc import Iterator

from .edits import CLASH, OTHER, SAME, Edit, edit, read_lists

LISTS = read_lists("chinese.json")
PLACE = r"[一-龥A-Za-z0-9]{2,12}?(?:[(（][^()（）]{1,14}[)）])?"
FROM_TO = re.compile(
    rf"从({PLACE})(到|去|前往)({PLACE})(?=[的，。？?,]|$|怎么|要|有|需|坐|打车|大概|多)"
)
BY_TRAIN = re.compile(
    r"(?<![一-龥])([一-龥]{2,4})到([一-龥]{2,4})(?=的(?:火车|机票|车票|航班|高铁|距离))"
)
ONE = r"我们|你们|他们|我|你|您|他|她|爸爸|妈妈|老师|朋友|医生|同事"
GIVES = re.compile(
    rf"(?<![一-龥])({ONE})(给|帮|请|教|问|等|告诉|陪|借给|通知|提醒|邀请|批评|"
    rf"表扬|照顾|喜欢|爱|讨厌|相信|理解)({ONE})(?!们|的|家|俩|自己)"
)
THAN = re.compile(
    r"([一-龥]{1,4})(?<!比)比(?!比)([一-龥]{1,4}?)(?=(?:更|还|要)?(?:高|大|贵|便宜|快|好|"
    r"远|近|早|晚|多|少|强|重|长)(?:[，。了]|$|一点|得多))"
)
TAKEN = re.compile(
    rf"(?<![一-龥])({ONE}|[一-龥]{{2,3}})把([一-龥]{{2,5}}?)((?:打|弄|吃|拿|"
    rf"卖|送|偷|修|撞|喝|写|看|洗|搬|扔|藏|骗|抢|带|关|删)[一-龥]{{0,3}}了)(?=[。，！]|"
    rf"$)"
)
NOUNS = "|".join(LISTS["nouns"])
BOTH = re.compile(rf"(?<![一-龥的])?({NOUNS})(和|与|跟|及|以及)({NOUNS})(?![一-龥]{{0,1}}店)")
FAKE = re.compile(
    rf"(?:买|用|收到|戴|送|拿|办)(?:了|着)?(?:一[束些张本])?({'|'.join(LISTS['fakes'])})(?=[，。了吗]|"
    rf"$)"
)
ROLE = re.compile(rf"(?<=[的国司])({'|'.join(LISTS['roles'])})(?=[是，。叫在]|$)")
DONE = re.compile(
    r"(?:我|他|她|他们|我们|它)(?=(?:忘|错过|迟到|摔|撞|哭|输|赢|死|丢|破产|"
    r"放弃|离婚|晕|成功|拿到|买到|考上|打破)[一-龥]{0,4}了)"
)
ALREADY = re.compile(
    r"(?<=[我他她它们])(?=(?:出生|创作|获得|发行|上映|毕业|结婚|参演|喜欢|去过|"
    r"看过|听过|吃过|认识))"
)
REAL = re.compile(r"(?:我|他|她|我们|他们)(?=(?:想|需要|喜欢|觉得|打算|希望|知道)[一-龥])")
ASKS = re.compile(r"[？?]$|什么|哪|谁|几点|怎么|多少|吗")


def which_way(text: str, chance: random.Random) -> Iterator[Edit]:
    """从甲到乙 → 从乙到甲; = 从甲出发到乙."""
    for found in FROM_TO.finditer(text):
        one, to, other = found.groups()
        if one != other and not re.search(
            r"[0-9点早晚时开今明昨小出乘坐接下找移直呢达带换打回帮火]", one + other
        ):
            yield edit(text, found, f"从{other}{to}{one}", CLASH)
            yield edit(text, found, f"从{one}出发{to}{other}", SAME)
    for found in BY_TRAIN.finditer(text):
        one, other = found.groups()
        if not re.search(r"[我你他从看找买想订帮达得]", one + other):
            yield edit(text, found, f"{other}到{one}", CLASH)
            yield edit(text, found, f"从{one}到{other}", SAME)


def who_does_it(text: str, chance: random.Random) -> Iterator[Edit]:
    """我帮你 → 你帮我."""
    for found in GIVES.finditer(text):
        one, does, other = found.groups()
        if {one, other} != {"你", "您"} and one != other:
            yield edit(text, found, f"{other}{does}{one}", CLASH)


def compared(text: str, chance: random.Random) -> Iterator[Edit]:
    """故宫比长城远 → 长城比故宫远; = 和长城相比，故宫远."""
    for found in THAN.finditer(text):
        one, other = found.groups()
        if (
            one != other
            and other[0] != "较"
            and not re.search(r"[这那以之就对性]$|^[的较]|[相好]$|觉得|认为|还是", one + other)
        ):
            yield edit(text, found, f"{other}比{one}", CLASH)


def by_whom(text: str, chance: random.Random) -> Iterator[Edit]:
    """他把书拿走了 = 书被他拿走了 ≠ 他被书拿走了."""
    for found in TAKEN.finditer(text):
        one, other, done = found.groups()
        yield edit(text, found, f"{other}被{one}{done}", SAME)
        yield edit(text, found, f"{other}把{one}{done}", CLASH)


def either_order(text: str, chance: random.Random) -> Iterator[Edit]:
    """电话和地址 = 地址和电话."""
    for found in BOTH.finditer(text):
        one, joint, other = found.groups()
        if one != other:
            yield edit(text, found, f"{other}{joint}{one}", SAME)


def inserted(text: str, chance: random.Random) -> Iterator[Edit]:
    """总统 → 前总统; 忘了 → 差点忘了; 上映 → 没上映."""
    for found in ROLE.finditer(text):
        yield edit(text, found, f"{chance.choice(['前', '未来的', '候任'])}{found.group()}", OTHER)
    for found in FAKE.finditer(text):
        yield edit(text, found, f"假{found.group(1)}", OTHER, 1)
    for found in DONE.finditer(text):
        yield edit(text, found, f"{found.group()}差点", CLASH)
    if not ASKS.search(text) and not re.search(r"[不没未]", text):
        for found in ALREADY.finditer(text):
            yield edit(text, found, "从未", CLASH)


def really(text: str, chance: random.Random) -> Iterator[Edit]:
    """我想去 = 我真的想去."""
    for found in REAL.finditer(text):
        yield edit(text, found, f"{found.group()}{chance.choice(['真的', '确实', '其实'])}", SAME)


def polite(text: str, chance: random.Random) -> Iterator[Edit]:
    """你好，请问…; 谢谢."""
    if ASKS.search(text) and not re.search(r"请问|你好|您好", text):
        yield Edit(text, chance.choice(["请问", "请问一下，", "你好，", "您好，请问"]) + text, SAME)
    if "请问" in text:
        yield Edit(text, re.sub(r"请问[一下]*[，,]?", "", text, count=1), SAME)
    if re.search(r"帮我|推荐|查一下|告诉我|发给我", text) and not re.search(
        r"谢|麻烦|请|[？?]$", text
    ):
        yield Edit(text, text.rstrip("。！.") + "，谢谢。", SAME)
    if re.match(r"(?:帮我|给我|告诉我|推荐|播放|打开|取消|设置|查询|发送)", text):
        yield Edit(text, f"请{text}", SAME)
        yield Edit(text, f"麻烦{text}", SAME)


def wording(text: str, chance: random.Random) -> Iterator[Edit]:
    """吗 = 么, 您 = 你, 呢 and 啊 come and go."""
    if found := re.search(r"(?<=[一-龥])吗(?=[？?]$)", text):
        yield edit(text, found, "么", SAME)
    if found := re.search(r"(?<=[一-龥])[呢呀啊](?=[？?。！]?$)", text):
        yield edit(text, found, "", SAME)
    elif found := re.search(r"(?:什么|多少|几点|哪里|哪儿|哪些|谁)(?=[？?]$)", text):
        yield edit(text, found, f"{found.group()}{chance.choice('呢呀')}", SAME)
    if re.search(r"[。？！]$", text) and len(text) > 4:
        yield Edit(text, text[:-1], SAME)
    if found := re.match(r"(?:好的|嗯|哦|对|是的|好|可以|行)[，,。！]", text):
        rest = text[found.end() :].strip()
        if len(rest) > 5:
            yield Edit(text, rest, SAME)


ROLES = (which_way, who_does_it, compared, by_whom, either_order)
INSERTED = (inserted, really)
HARMLESS = (really, polite, wording)
