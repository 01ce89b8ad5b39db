"""What the package costs those that only import it."""

import subprocess
import sys


def test_the_slow_libraries_are_imported_when_they_are_needed() -> None:
    """croniter (60 ms) by the first evaluation, cron-descriptor (35 ms) by the first description."""
    program = (
        "import sys\n"
        "from penstock.scheduler.expressions.expression import parse\n"
        "parse(when='every day at 9am')\n"
        "print([name for name in ('croniter', 'cron_descriptor', 'difflib') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
