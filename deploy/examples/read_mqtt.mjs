// Reads batches, presence and states over WebSockets, in a browser or with Node.js, without a library.
//
//     node deploy/examples/read_mqtt.mjs ws://127.0.0.1:8083
//
// In a browser: import { subscribe } from "./read_mqtt.mjs". The broker needs the listener for WebSockets of its configuration.
// Node.js before version 22 needs the Debian package node-ws, and NODE_PATH=/usr/share/nodejs.

const utf8 = new TextEncoder();

function text(value) {
    const bytes = utf8.encode(value);
    return [bytes.length >> 8, bytes.length & 0xff, ...bytes];
}

function packet(type, body) {
    const length = [];
    let rest = body.length;
    do {
        length.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
        rest >>= 7;
    } while (rest);
    return Uint8Array.from([type, ...length, ...body]);
}

/** Connects with MQTT 3.1.1 and calls onMessage(topic, value) for each message; value is the decoded JSON or CBOR. */
export async function subscribe(url, topic, onMessage, { user, password, onClose = () => {} } = {}) {
    let Socket = globalThis.WebSocket;
    if (!Socket) Socket = (await import("node:module")).createRequire(import.meta.url)("ws");
    const socket = new Socket(url, ["mqtt"]);
    socket.binaryType = "arraybuffer";
    let pending = new Uint8Array();
    const ping = setInterval(() => socket.readyState === 1 && socket.send(packet(0xc0, [])), 30000);
    socket.onopen = () => {
        const flags = 0x02 | (user === undefined ? 0 : 0x80) | (password === undefined ? 0 : 0x40);
        const id = `reader-${Math.random().toString(36).slice(2, 12)}`;
        const login = [user, password].filter((part) => part !== undefined).flatMap(text);
        socket.send(packet(0x10, [...text("MQTT"), 4, flags, 0, 60, ...text(id), ...login]));
    };
    socket.onclose = (event) => {
        clearInterval(ping);
        onClose(event.reason || `the connection has ended (${event.code})`);
    };
    socket.onerror = () => {};
    socket.onmessage = ({ data }) => {
        const bytes = new Uint8Array(pending.length + data.byteLength);
        bytes.set(pending);
        bytes.set(new Uint8Array(data), pending.length);
        const packets = [];
        let start = 0;
        for (;;) {
            let [at, length, shift] = [start + 1, 0, 0];
            while (bytes[at] > 0x7f) (length |= (bytes[at++] & 0x7f) << shift), (shift += 7);
            length |= bytes[at++] << shift;
            if (!(at + length <= bytes.length)) break;
            packets.push([bytes[start], bytes.subarray(at, at + length)]);
            start = at + length;
        }
        pending = bytes.slice(start);
        for (const [type, body] of packets) handle(type, body);
    };
    function handle(type, body) {
        if (type >> 4 === 2) {
            if (body[1] !== 0) return socket.close(1000, `the broker refuses the connection (${body[1]})`);
            socket.send(packet(0x82, [0, 1, ...text(topic), 0]));
        } else if (type >> 4 === 3) {
            const end = 2 + (body[0] << 8) + body[1];
            const payload = body.subarray(end + ((type >> 1) & 3 ? 2 : 0));
            let value;
            try {
                value = decode(payload);
            } catch {
                return; // Empty, or neither JSON nor CBOR, such as the text of a marker.
            }
            onMessage(new TextDecoder().decode(body.subarray(2, end)), value);
        }
    }
    return socket;
}

/** Decodes a payload: a CBOR map begins with a byte from 0xa0 to 0xbf, JSON with a brace. */
export function decode(payload) {
    if (payload[0] < 0xa0 || payload[0] > 0xbf) return JSON.parse(new TextDecoder().decode(payload));
    const batch = cbor({ bytes: payload, at: 0 });
    const head = ["v", "epoch", "seq", "live", "t", "dt"];
    for (const [name, value] of Object.entries(batch)) if (value instanceof Uint8Array) batch[name] = series(value);
    const count = Object.entries(batch).find(([name, value]) => !head.includes(name) && Array.isArray(value))[1].length;
    for (const [name, value] of Object.entries(batch)) {
        // A single value stands for all samples.
        if (!head.includes(name) && !Array.isArray(value)) batch[name] = Array(count).fill(value);
    }
    return batch;
}

function cbor(reader) {
    const first = reader.bytes[reader.at++];
    const view = new DataView(reader.bytes.buffer, reader.bytes.byteOffset);
    const [kind, detail] = [first >> 5, first & 31];
    const at = reader.at;
    if (kind === 7) {
        if (detail === 25) return (reader.at += 2), float16(view.getUint16(at));
        if (detail === 26) return (reader.at += 4), view.getFloat32(at);
        if (detail === 27) return (reader.at += 8), view.getFloat64(at);
        return { 20: false, 21: true }[detail] ?? null;
    }
    let number = detail;
    if (detail > 23) {
        const size = 1 << (detail - 24);
        number = [0, 1, 2, 3].includes(detail - 24)
            ? Number([...reader.bytes.subarray(at, at + size)].reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)) : 0;
        reader.at += size;
    }
    if (kind === 0) return number;
    if (kind === 1) return -1 - number;
    if (kind === 2 || kind === 3) {
        const part = reader.bytes.slice(reader.at, (reader.at += number));
        return kind === 2 ? part : new TextDecoder().decode(part);
    }
    if (kind === 4) return Array.from({ length: number }, () => cbor(reader));
    if (kind === 5) return Object.fromEntries(Array.from({ length: number }, () => [cbor(reader), cbor(reader)]));
    // Little-endian float32 and float64 of RFC 8746.
    const part = cbor(reader);
    return [...new (number === 85 ? Float32Array : Float64Array)(part.buffer)];
}

function float16(bits) {
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
    const size = exponent === 31 ? (fraction ? NaN : Infinity)
        : exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction;
    return bits & 0x8000 ? -size : size;
}

/** Decodes a packed series of numbers, see docs/wire-format.md. */
function series(data) {
    let at = 2;
    function varint() {
        let [value, shift, byte] = [0n, 0n, 0];
        do {
            byte = data[at++];
            value |= BigInt(byte & 0x7f) << shift;
            shift += 7n;
        } while (byte > 0x7f);
        return value;
    }
    const [decimals, order, parameter] = [data[0], data[1] >> 6, data[1] & 0x3f];
    const count = Number(varint());
    const residuals = Array.from({ length: order }, varint);
    let bit = at * 8;
    const next = () => (data[bit >> 3] >> (7 - (bit++ & 7))) & 1;
    while (residuals.length < count) {
        let ones = 0;
        while (ones < 16 && next()) ones += 1;
        // A Rice code: ones, a zero, and the lower bits. After sixteen ones the number itself follows, in 64 bits.
        let value = ones === 16 ? 0n : BigInt(ones);
        for (let index = 0; index < (ones === 16 ? 64 : parameter); index++) value = (value << 1n) | BigInt(next());
        residuals.push(value);
    }
    const numbers = [];
    residuals.forEach((residual, index) => {
        let number = (residual >> 1n) ^ -(residual & 1n);
        // The difference of order 3 is x[i] - 3 x[i - 1] + 3 x[i - 2] - x[i - 3], and so on.
        const weights = [[], [1n], [2n, -1n], [3n, -3n, 1n]][Math.min(order, index)];
        weights.forEach((weight, back) => (number += weight * numbers[index - back - 1]));
        numbers.push(number);
    });
    return numbers.map((number) => Number(number) / 10 ** decimals);
}

const isProgram =
    globalThis.process?.argv[1] &&
    // After 'node -e', it is an argument.
    (await import("node:fs")).existsSync(process.argv[1]) &&
    import.meta.url ===
        (await import("node:url")).pathToFileURL((await import("node:fs")).realpathSync(process.argv[1])).href;
if (isProgram) {
    const [url, topic = "lockstep/#"] = process.argv.slice(2);
    const onClose = (reason) => {
        console.error(reason);
        process.exit(1);
    };
    await subscribe(url, topic, (name, value) => console.log(name, JSON.stringify(value)), { onClose });
}
