"""Try every integration against the real package, in an environment of its own.

python tests/integrations                    all of them
python tests/integrations langchain spacy    these
python tests/integrations --fresh langchain  with the newest versions, which are then pinned
python tests/integrations --list             what there is
python tests/integrations --page             only write the table of results anew
"""

import argparse
import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import integration_results
from integration_environments import PLACE, clean, prepare, wheels
from integration_table import ROOT, Integration, rows

NOTHING_RAN = 5
"""Exit code of pytest where it found no test."""
ASKS = """
import json, sys, platform
from importlib.metadata import version
print(json.dumps([platform.python_version(), *map(version, sys.argv[1:])]))
"""


def try_one(integration: Integration, python: Path) -> dict[str, Any]:
    """Run the tests of an integration, and say what came of them."""
    report = PLACE / f"{integration.name}.xml"
    report.unlink(missing_ok=True)
    words = [str(python), "-m", "pytest", "-rs", "-p", "no:cacheprovider", f"--junitxml={report}"]
    words += ["-o", "junit_family=xunit1"]  # which has properties of tests
    doctests = ["--doctest-modules", "--pyargs", *integration.doctests]
    asked = [*integration.files(), *(doctests if integration.doctests else [])]
    code = subprocess.run([*words, *asked], cwd=ROOT, env=clean()).returncode
    if not report.exists() or code == NOTHING_RAN:
        raise SystemExit(f"{integration.name}: no test ran (pytest ended with {code})")
    found, reasons = outcomes(report)
    number, ours, *others = versions(python, "softquery", *integration.shown)
    record = {
        "packages": dict(zip(integration.shown, others, strict=True)),
        "python": number,
        "softquery": ours,
        "passed": found["passed"],
        "failed": found["failed"],
        "expected to fail": found["expected to fail"],
        "skipped": found["skipped"],
        "reasons": reasons,
        "date": datetime.now(timezone.utc).date().isoformat(),
    }
    measured = told(report)
    return {**record, "measured": measured} if measured else record


def versions(python: Path, *packages: str) -> list[str]:
    """The version of Python, and those of packages, as an environment has them."""
    command = [str(python), "-c", ASKS, *packages]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, env=clean())
    found: list[str] = json.loads(printed.stdout)
    return found


def outcomes(report: Path) -> tuple[Counter[str], dict[str, int]]:
    """How many tests passed, failed or were skipped, and why those were."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            counts["failed"] += 1
        elif skipped is not None and skipped.get("type") == "pytest.xfail":
            counts["expected to fail"] += 1
        elif skipped is not None:
            counts["skipped"] += 1
            reasons[skipped.get("message", "")] += 1
        else:
            counts["passed"] += 1
    return counts, dict(reasons)


def told(report: Path) -> dict[str, str]:
    """What tests recorded as a property: the name of the test, and what it measured."""
    return {
        f"{case.get('name')}, {each.get('name')}": str(each.get("value"))
        for case in ElementTree.parse(report).iter("testcase")
        for each in case.iter("property")
    }


def main() -> int:
    """The command line; the exit code is 1 where a test failed."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("integrations", None, __doc__, formatter_class=plain)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--fresh", action="store_true", help="take and pin the newest versions")
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--page", action="store_true", help="write the table of results anew")
    given = parser.parse_args()
    chosen = list(rows(given.names))
    if given.list:
        print("\n".join(f"{each.name}: {', '.join(each.shown)}" for each in chosen))
        return 0
    if given.page:
        integration_results.PAGE.write_text(integration_results.page(), encoding="utf-8")
        return 0
    runnable = []
    for each in chosen:
        lacking = [program for program in each.programs if shutil.which(program) is None]
        if lacking:
            print(f"{each.name}: not run, since {', '.join(lacking)} is not installed", flush=True)
        else:
            runnable.append(each)
    built = wheels(models=any(each.models for each in runnable))
    failed = []
    for each in runnable:
        print(f"{each.name}: {', '.join(each.shown)}", flush=True)
        record = try_one(each, prepare(each, built, fresh=given.fresh))
        integration_results.write(each.name, record)
        if record["failed"]:
            failed.append(each.name)
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
