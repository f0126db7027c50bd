"""Check whether a server is running: `python -m softquery.serve.health [URL]`.

Needs only the standard library; exits with 0 if the server is running, else with 1.
"""

import os
import sys
import urllib.error
import urllib.request

SECONDS = 5.0


def is_healthy(address: str) -> bool:
    """Whether `/health` answers 200."""
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=SECONDS) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError, ValueError):
        return False


if __name__ == "__main__":
    port = os.environ.get("SOFTQUERY_PORT", "8000")
    place = sys.argv[1] if len(sys.argv) > 1 else f"http://127.0.0.1:{port}"
    sys.exit(0 if is_healthy(place) else 1)
