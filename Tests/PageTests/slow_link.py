"""A proxy that behaves like a slow link: a round trip takes some time, and all connections share a rate."""

import asyncio
import contextlib
import threading


class SlowLink:
    """Use it as a context manager: `with SlowLink(port) as link: … link.url`."""

    def __init__(self, port, round_trip=0.15, bits=1_600_000):
        self.target = port
        self.round_trip = round_trip
        self.bytes_per_second = bits / 8
        self.free_at = 0.0
        self.received = 0
        self.loop = asyncio.new_event_loop()

    def __enter__(self):
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", 0), self.loop).result()
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_):
        async def end():
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)

    async def _serve(self, reader, writer):
        # The handshake of a connection is a round trip.
        await asyncio.sleep(self.round_trip)
        try:
            remote_reader, remote_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._copy(reader, remote_writer, False), self._copy(remote_reader, writer, True), return_exceptions=True)

    async def _copy(self, reader, writer, is_down):
        queue = asyncio.Queue()
        sender = asyncio.create_task(self._send(queue, writer))
        # The browser ends connections when a page is closed.
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(4096):
                at = self.loop.time()
                if is_down:
                    self.received += len(data)
                    at = self.free_at = max(at, self.free_at) + len(data) / self.bytes_per_second
                    # A link holds little: who sends more has to wait.
                    await asyncio.sleep(max(0, at - self.loop.time() - 0.05))
                queue.put_nowait((at + self.round_trip / 2, data))
        queue.put_nowait((self.loop.time() + self.round_trip / 2, None))
        await sender

    async def _send(self, queue, writer):
        while True:
            at, data = await queue.get()
            await asyncio.sleep(max(0, at - self.loop.time()))
            if data is None:
                writer.close()
                return
            writer.write(data)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
