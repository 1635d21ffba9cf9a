/** QR codes (ISO/IEC 18004) of texts: byte mode, error correction level M, versions 1 to 20. Pure functions. */

/** Codewords for error correction in a block, and blocks, by version. */
const CHECKS = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26];
const BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16];

const MASKS = [
    (x, y) => (x + y) % 2 === 0, (x, y) => y % 2 === 0, (x) => x % 3 === 0, (x, y) => (x + y) % 3 === 0,
    (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0, (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
    (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0, (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** All codewords of a version: data and error correction. */
function codewords(version) {
    let modules = (16 * version + 128) * version + 64;
    if (version >= 2) {
        const lines = Math.floor(version / 7) + 2;
        modules -= (25 * lines - 10) * lines - 55;
        if (version >= 7) modules -= 36;
    }
    return Math.floor(modules / 8);
}

const dataCodewords = (version) => codewords(version) - CHECKS[version - 1] * BLOCKS[version - 1];

/** Product in the field GF(2⁸) modulo x⁸ + x⁴ + x³ + x² + 1. */
function product(a, b) {
    let result = 0;
    for (let bit = 7; bit >= 0; bit -= 1) {
        result = (result << 1) ^ ((result >> 7) * 0x11d);
        result ^= ((b >> bit) & 1) * a;
    }
    return result;
}

/** The Reed-Solomon generator polynomial, without its first coefficient. @param {number} degree */
function generator(degree) {
    const result = new Uint8Array(degree);
    result[degree - 1] = 1;
    for (let i = 0, root = 1; i < degree; i += 1, root = product(root, 2)) {
        for (let j = 0; j < degree; j += 1) result[j] = product(result[j], root) ^ (result[j + 1] ?? 0);
    }
    return result;
}

function remainder(data, divisor) {
    const result = new Uint8Array(divisor.length);
    for (const byte of data) {
        const factor = byte ^ result[0];
        result.copyWithin(0, 1);
        result[result.length - 1] = 0;
        divisor.forEach((value, i) => { result[i] ^= product(value, factor); });
    }
    return result;
}

/** The codewords of a text in the order in which they are drawn. */
function interleaved(bytes, version) {
    const capacity = dataCodewords(version);
    const bits = [];
    const append = (value, length) => { for (let i = length - 1; i >= 0; i -= 1) bits.push((value >> i) & 1); };
    append(4, 4);
    append(bytes.length, version < 10 ? 8 : 16);
    for (const byte of bytes) append(byte, 8);
    append(0, Math.min(4, capacity * 8 - bits.length));
    append(0, (8 - (bits.length % 8)) % 8);
    const data = [];
    for (let i = 0; i < bits.length; i += 8) data.push(parseInt(bits.slice(i, i + 8).join(""), 2));
    for (let i = 0; data.length < capacity; i += 1) data.push(i % 2 ? 0x11 : 0xec);
    const count = BLOCKS[version - 1];
    const short = Math.floor(capacity / count);
    const divisor = generator(CHECKS[version - 1]);
    const blocks = [];
    for (let i = 0, at = 0; i < count; i += 1) {
        // The last blocks are longer by one.
        const length = short + (i < count - (capacity % count) ? 0 : 1);
        const block = data.slice(at, at + length);
        at += length;
        blocks.push({ block, checks: remainder(block, divisor) });
    }
    const result = [];
    for (let i = 0; i <= short; i += 1) for (const { block } of blocks) if (i < block.length) result.push(block[i]);
    for (let i = 0; i < divisor.length; i += 1) for (const { checks } of blocks) result.push(checks[i]);
    return result;
}

class Drawing {
    constructor(version) {
        this.version = version;
        this.size = version * 4 + 17;
        this.dark = Array.from({ length: this.size }, () => new Uint8Array(this.size));
        this.fixed = Array.from({ length: this.size }, () => new Uint8Array(this.size));
        this.#patterns();
    }

    set(x, y, isDark) {
        if (x < 0 || y < 0 || x >= this.size || y >= this.size) return;
        this.dark[y][x] = isDark ? 1 : 0;
        this.fixed[y][x] = 1;
    }

    #patterns() {
        const { size, version } = this;
        for (let i = 0; i < size; i += 1) {
            this.set(6, i, i % 2 === 0);
            this.set(i, 6, i % 2 === 0);
        }
        for (const [cx, cy] of [[3, 3], [size - 4, 3], [3, size - 4]]) this.#rings(cx, cy, 4, [0, 1, 3]);
        const lines = version === 1 ? 0 : Math.floor(version / 7) + 2;
        const step = lines ? Math.ceil((size - 13) / (lines * 2 - 2)) * 2 : 0;
        const places = lines ? [6, ...Array.from({ length: lines - 1 }, (_, i) => size - 7 - (lines - 2 - i) * step)] : [];
        for (const x of places) {
            for (const y of places) {
                const isCorner = (x === 6 && y === 6) || (x === 6 && y === size - 7) || (x === size - 7 && y === 6);
                if (!isCorner) this.#rings(x, y, 2, [0, 2]);
            }
        }
        this.format(0);
        if (version < 7) return;
        let rest = version;
        for (let i = 0; i < 12; i += 1) rest = (rest << 1) ^ ((rest >> 11) * 0x1f25);
        const bits = (version << 12) | rest;
        for (let i = 0; i < 18; i += 1) {
            const [a, b] = [size - 11 + (i % 3), Math.floor(i / 3)];
            this.set(a, b, (bits >> i) & 1);
            this.set(b, a, (bits >> i) & 1);
        }
    }

    #rings(cx, cy, radius, dark) {
        for (let dy = -radius; dy <= radius; dy += 1) {
            for (let dx = -radius; dx <= radius; dx += 1) this.set(cx + dx, cy + dy, dark.includes(Math.max(Math.abs(dx), Math.abs(dy))));
        }
    }

    /** The level (0 is M) and the mask, twice. */
    format(mask) {
        let rest = mask;
        for (let i = 0; i < 10; i += 1) rest = (rest << 1) ^ ((rest >> 9) * 0x537);
        const bits = ((mask << 10) | rest) ^ 0x5412;
        const bit = (i) => (bits >> i) & 1;
        for (let i = 0; i <= 5; i += 1) this.set(8, i, bit(i));
        this.set(8, 7, bit(6));
        this.set(8, 8, bit(7));
        this.set(7, 8, bit(8));
        for (let i = 9; i < 15; i += 1) this.set(14 - i, 8, bit(i));
        for (let i = 0; i < 8; i += 1) this.set(this.size - 1 - i, 8, bit(i));
        for (let i = 8; i < 15; i += 1) this.set(8, this.size - 15 + i, bit(i));
        this.set(8, this.size - 8, 1);
    }

    /** Two columns at a time, upwards and downwards, from the right. */
    data(bytes) {
        let at = 0;
        for (let right = this.size - 1; right >= 1; right -= 2) {
            if (right === 6) right = 5;
            for (let i = 0; i < this.size; i += 1) {
                const y = ((right + 1) & 2) === 0 ? this.size - 1 - i : i;
                for (const x of [right, right - 1]) {
                    if (this.fixed[y][x]) continue;
                    this.dark[y][x] = at < bytes.length * 8 ? (bytes[at >> 3] >> (7 - (at & 7))) & 1 : 0;
                    at += 1;
                }
            }
        }
    }

    mask(number) {
        for (let y = 0; y < this.size; y += 1) {
            for (let x = 0; x < this.size; x += 1) if (!this.fixed[y][x] && MASKS[number](x, y)) this.dark[y][x] ^= 1;
        }
    }

    /** How hard the code is to read: long runs, blocks of one colour, unequal numbers of both colours. */
    penalty() {
        const { size, dark } = this;
        let result = 0;
        let count = 0;
        for (let a = 0; a < size; a += 1) {
            for (const at of [(b) => dark[a][b], (b) => dark[b][a]]) {
                for (let b = 1, run = 1; b <= size; b += 1) {
                    if (b < size && at(b) === at(b - 1)) run += 1;
                    else {
                        if (run >= 5) result += run - 2;
                        run = 1;
                    }
                }
            }
            for (let b = 0; b < size; b += 1) {
                count += dark[a][b];
                if (a && b && dark[a][b] === dark[a - 1][b] && dark[a][b] === dark[a][b - 1] && dark[a][b] === dark[a - 1][b - 1]) result += 3;
            }
        }
        return result + Math.floor(Math.abs(count / (size * size) - 0.5) * 20) * 10;
    }
}

/**
 * Returns the rows of a QR code, 1 for dark modules, without the light border of 4 modules; null if the text is too long.
 * @param {string} text @returns {Uint8Array[]|null}
 */
export function qrCode(text) {
    const bytes = new TextEncoder().encode(text);
    const version = BLOCKS.findIndex((_, i) => bytes.length + (i + 1 < 10 ? 2 : 3) <= dataCodewords(i + 1)) + 1;
    if (version === 0) return null;
    const words = interleaved(bytes, version);
    let best = null;
    for (let mask = 0; mask < MASKS.length; mask += 1) {
        const drawing = new Drawing(version);
        drawing.data(words);
        drawing.mask(mask);
        drawing.format(mask);
        const penalty = drawing.penalty();
        if (!best || penalty < best.penalty) best = { penalty, rows: drawing.dark };
    }
    return /** @type {any} */ (best).rows;
}

/** The outline of the dark modules as the path of an SVG, with the border. @param {Uint8Array[]} rows */
export function qrPath(rows) {
    return rows.flatMap((row, y) => [...row].flatMap((isDark, x) => (isDark ? [`M${x + 4} ${y + 4}h1v1h-1z`] : []))).join("");
}
