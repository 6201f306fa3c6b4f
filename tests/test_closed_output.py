"""A command whose output nobody reads any more ends without a word."""

import os
import subprocess
import sys

import pytest

BEGINNING = "import os, sys, threading\nfrom drurank.closed_output import ending_quietly\n"
WRITES = {
    "at its exit": "print('a line')",
    "at once": "print('a line', flush=True)",
    "much": "for _ in range(10_000): print('a line')",
    "by rich": "from drurank.terminal import Terminal; Terminal().print('a line')",
    "by rich itself": "from rich.console import Console; Console().print('a line')",
    "in another error": "try: print('a line', flush=True)\n    except OSError as error: raise ValueError from error",
    "in a thread": "t = threading.Thread(target=print, args=['a line'], kwargs={'flush': True}); t.start(); t.join()",
}


def ended(block, closed=True):
    """Exit status of a program with this block in it, and what it wrote to standard error."""
    read, write = os.pipe()
    if closed:
        os.close(read)
    code = f"{BEGINNING}with ending_quietly():\n    {block}\n"
    done = subprocess.run([sys.executable, "-c", code], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    if not closed:
        os.close(read)
    return done.returncode, done.stderr


@pytest.mark.parametrize("block", WRITES.values(), ids=WRITES)
def test_a_closed_output_ends_the_program_quietly(block):
    # A thread ends alone, as if it had been heard.
    assert ended(block) == (0 if block == WRITES["in a thread"] else 141, "")


def test_other_errors_and_statuses_stay_what_they_are():
    assert ended("sys.exit(2)") == (2, "")
    assert ended("pass") == (0, "")
    assert ended("print('a line')", closed=False) == (0, "")
    status, said = ended("raise KeyError('mine')")
    assert (status, said.splitlines()[-1]) == (1, "KeyError: 'mine'")
    status, said = ended("raise BrokenPipeError('of another pipe')", closed=False)
    assert (status, said.splitlines()[-1]) == (1, "BrokenPipeError: of another pipe")
    status, said = ended("os.write(os.pipe()[1], b'x'); raise OSError('of another pipe')")
    assert (status, said.splitlines()[-1]) == (1, "OSError: of another pipe")


def test_the_command_line_ends_so():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "drurank", "--help"], stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")
