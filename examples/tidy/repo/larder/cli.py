"""python3 -m larder.cli FILE report|find TEXT"""

from __future__ import annotations

import datetime
import sys
from typing import List, Optional

from larder.report import report
from larder.search import by_name
from larder.storage import read


def main(argv: Optional[List[str]] = None) -> int:
    words: List[str] = sys.argv[1:] if argv is None else argv
    if len(words) == 2 and words[1] == "report":
        sys.stdout.write(report(read(words[0]), datetime.date.today()))
        return 0
    if len(words) == 3 and words[1] == "find":
        for item in by_name(read(words[0]), words[2]):
            print(item.name)
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
