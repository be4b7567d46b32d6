"""A worker process for the end-to-end tests."""

import signal
import subprocess


class Worker:
    """Starts a worker on a free port; as a context, stops it at the end.

    Attributes:
      address: where it listens, HOST:PORT.
    """

    def __init__(self, binary, checkpoint, *flags):
        self.process = subprocess.Popen(
            [binary, "--checkpoint=" + checkpoint, "--address=127.0.0.1:0", *flags],
            stdout=subprocess.PIPE,
            text=True,
        )
        for line in self.process.stdout:
            if line.startswith("listening on "):
                self.address = line.split()[-1]
                return
        raise AssertionError(f"the worker ended with {self.process.wait()}")

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        if error is None:
            assert code == 0, f"the worker ended with {code}"
