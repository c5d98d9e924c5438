"""Print what an extra of pyproject.toml installs, one requirement a line, without the package itself.

python .ci/requirements.py docs              # the requirements of the extra `docs`
python .ci/requirements.py --names dev ray   # the names alone, without versions, with those of the package itself
"""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
names_only = sys.argv[1] == "--names"
listed = [*project["dependencies"]] if names_only else []
for extra in sys.argv[1 + names_only :]:
    listed += project["optional-dependencies"][extra]
print("\n".join(sorted({re.split("[<>=~!]", entry)[0] for entry in listed} if names_only else listed)))
