"""Browsers that look at a monitor: WebSockets that read all they are sent, or nothing. Standard library alone, one thread."""
import base64
import os
import selectors
import socket
import struct
import time


class Browser:
    """One connection to ws://127.0.0.1:PORT/live. What came: bytes, messages, and of these the ones about the run's health.

    `heard`, where it is given, is called with each message."""

    def __init__(self, port, reads=True, heard=None):
        self.reads = reads
        self._heard = heard
        self.bytes = self.messages = self.updates = 0
        self.open = True
        self._left = b""  # of a frame's head that has not come whole
        self._skip = 0  # of a frame's body that is still to come
        self.socket = socket.socket()
        if not reads:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(30)
        self.socket.connect(("127.0.0.1", port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET /live HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            more = self.socket.recv(1)
            if not more:
                break
            head += more
        if b" 101 " not in head:
            raise RuntimeError("no WebSocket: " + head.decode(errors="replace"))
        self.socket.setblocking(False)

    def read(self):
        """What waits, a piece of it; False when the connection has ended."""
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if not data:
            return False
        self.bytes += len(data)
        self._take(data)
        return self.open

    # Frames of servers: opcode and flags, length of 7, 16 or 64 bits, body without a mask.
    def _take(self, data):
        at = 0
        if self._skip:
            at = min(self._skip, len(data))
            self._skip -= at
            if self._skip:
                return
        data = self._left + data[at:]
        self._left = b""
        at = 0
        while at < len(data):
            rest = len(data) - at
            length = data[at + 1] & 127 if rest >= 2 else 0
            head = 2 + (2 if length == 126 else 8 if length == 127 else 0)
            if rest < head:
                break
            if length >= 126:
                length = int.from_bytes(data[at + 2:at + head], "big")
            kind = data[at] & 15
            # Enough to see what it is about.
            seen = length if self._heard else min(length, 32)
            if rest < head + seen:
                break
            body = data[at + head:at + head + seen]
            if kind == 9:  # the server asks whether anybody is there
                mask = os.urandom(4)
                self.socket.sendall(struct.pack("BB", 0x8A, 0x80 | len(body)) + mask +
                                    bytes(b ^ mask[k % 4] for k, b in enumerate(body)))
            elif kind in (1, 2):
                self.messages += 1
                self.updates += body.startswith(b'{"type":"run"')
                if self._heard:
                    self._heard(body)
            elif kind == 8:
                self.open = False
            at += head + length
        if at > len(data):
            self._skip = at - len(data)
        else:
            self._left = data[at:]


class Browsers:
    def __init__(self, port, reading, silent=0):
        self.all = []
        self._selector = selectors.DefaultSelector()
        self.port = port
        for k in range(reading + silent):
            self._add(k < reading)
        self.closed = 0

    def _add(self, reads):
        one = Browser(self.port, reads)
        self.all.append(one)
        if reads:
            self._selector.register(one.socket, selectors.EVENT_READ, one)

    def read_for(self, seconds):
        """Meanwhile those that the server closes are opened again."""
        until = time.monotonic() + seconds
        while (now := time.monotonic()) < until:
            for key, _ in self._selector.select(until - now):
                one = key.data
                if not one.read():
                    self._selector.unregister(key.fileobj)
                    one.socket.close()
                    self.closed += 1
                    self.all.remove(one)
                    self._add(True)

    def close(self):
        for one in self.all:
            one.socket.close()
