"""What long measurements share."""

import os
import subprocess
import sys


def run(*arguments):
    """What the program prints; one that fails ends the measurement."""
    done = subprocess.run([os.environ["DESIREPATH"], *map(str, arguments), "--quiet"], capture_output=True, text=True)
    if done.returncode not in (0, 4):
        sys.exit(f"{arguments}\n{done.stderr}")
    return done.stdout
