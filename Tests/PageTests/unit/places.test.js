import { startGame, stepGame, SIDE, BALL, BUMPERS, random } from "../../../Sources/LockstepServe/Page/assets/pure/bounce.js";
import { clustersOf, placeOf, placeParameters } from "../../../Sources/LockstepServe/Page/assets/pure/clusters.js";
import { distance, distanceFilter, graticule, isStale, segments, tileAttribution, trackLength } from "../../../Sources/LockstepServe/Page/assets/pure/geo.js";
import { midnight } from "../../../Sources/LockstepServe/Page/assets/pure/format.js";
import { distanceIn, lengthIn, paceIn, quantities } from "../../../Sources/LockstepServe/Page/assets/pure/walk.js";
import { check, equal, near, test } from "./harness.js";

const fix = (t, lat, lon, at = t) => ({ t, lat, lon, hacc: 5, at });

test("a degree of latitude is about 111 km", () => {
    near(distance({ lat: 0, lon: 0 }, { lat: 1, lon: 0 }), 111_195, 1);
    near(distance({ lat: 0, lon: 179.5 }, { lat: 0, lon: -179.5 }), 111_195, 1);
});

test("a distance filter keeps fixes that are far enough from the previous one kept", () => {
    const fixes = [0, 1, 2, 3, 4].map((i) => fix(i, i * 1e-5, 0));
    equal(distanceFilter(fixes, 2).map(({ t }) => t), [0, 2, 4]);
    equal(distanceFilter(fixes, 0), fixes);
});

test("a track is split at gaps and where fixes become stale", () => {
    const fixes = [fix(0, 0, 0), fix(1e6, 1, 0), fix(2e6, 1, 1, -20e6), fix(3e6, 1, 1, -20e6), fix(500e6, 2, 2)];
    check(isStale(fixes[2]) && !isStale(fixes[0]));
    const parts = segments(fixes, 60e6);
    equal(parts.map((part) => [part.stale, part.fixes.length]), [[false, 2], [true, 3], [false, 1]]);
    near(trackLength(parts), distance(fixes[0], fixes[1]) + distance(fixes[1], fixes[2]), 1e-6);
});

test("a graticule has round degrees", () => {
    equal(graticule(35.7031, 35.7189, 4).lines.map((line) => line.toFixed(3)), ["35.705", "35.710", "35.715"]);
    equal(graticule(-80, 80, 5).step, 45);
    equal(graticule(35.7031, 35.7189, 4).decimals, 3);
});

test("only known quantities are shown", () => {
    equal(quantities({ steps: 1200, distance: null, pace: undefined, cadence: 1.82 }, "metric").map(({ key, value }) => [key, value]), [["steps", "1\u202f200"], ["cadence", "109"]]);
    equal(quantities({}, "metric"), []);
    equal(quantities({ steps: 90, floors_ascended: 3, floors_descended: 0 }, "metric").map(({ label, value }) => `${label} ${value}`), ["Steps 90", "Floors up 3", "Floors down 0"]);
});

test("distances and paces have metric and imperial units", () => {
    equal(distanceIn(640, "metric"), { value: "640", unit: "m" });
    equal(distanceIn(6590, "metric"), { value: "6.59", unit: "km" });
    equal(distanceIn(1609.344, "imperial"), { value: "1.00", unit: "mi" });
    equal(distanceIn(100, "imperial"), { value: "328", unit: "ft" });
    equal(paceIn(0.7, "metric"), { value: "11:40", unit: "min/km" });
    equal(paceIn(0.7, "imperial"), { value: "18:47", unit: "min/mi" });
});

test("midnight is local", () => {
    const date = new Date(midnight(1795576380759441) / 1000);
    equal([date.getHours(), date.getMinutes(), date.getSeconds()], [0, 0, 0]);
});

test("the ball falls towards gravity and stays in the box", () => {
    let game = startGame(1);
    game = stepGame(game, [0, -1, 0], 0.25).game;
    check(game.ball.y > 8.4);
    for (let i = 0; i < 2000; i += 1) {
        const pull = [Math.sin(i / 40), Math.cos(i / 55), -0.3];
        game = stepGame(game, pull, 1 / 60).game;
        const { x, y } = game.ball;
        check(x >= BALL - 1e-9 && x <= SIDE - BALL + 1e-9 && y >= BALL - 1e-9 && y <= SIDE - BALL + 1e-9, "it left the box");
        check(BUMPERS.every((bumper) => Math.hypot(x - bumper.x, y - bumper.y) >= bumper.radius + BALL - 0.12), "it is in a bumper");
    }
    check(game.score > 0, "it never met a star");
    check(game.hits > 10);
});

test("gravity to the right pulls the ball to the right, and the score counts stars", () => {
    const start = { ball: { x: 1, y: 9.4, vx: 0, vy: 0 }, star: { x: 4, y: 9.4 }, score: 7, seed: 3, hits: 0 };
    const events = [];
    let game = start;
    for (let i = 0; i < 60; i += 1) {
        const result = stepGame(game, [0.5, -0.1, -0.8], 1 / 60);
        events.push(...result.events);
        game = result.game;
    }
    equal(game.score, 8);
    check(events.some(({ kind }) => kind === "star"));
    check(Math.hypot(game.star.x - 4, game.star.y - 9.4) > 0.1);
});

test("a pause of the page is not played", () => {
    const start = { ball: { x: 5, y: 1, vx: 0, vy: 0 }, star: { x: 9, y: 9 }, score: 0, seed: 1, hits: 0 };
    equal(stepGame(start, [0, -1, 0], 60).game, stepGame(start, [0, -1, 0], 0.25).game);
    equal(stepGame(start, [0, -1, 0], 0).game, start);
});

test("random numbers are reproducible and spread", () => {
    let seed = 5;
    let sum = 0;
    for (let i = 0; i < 1000; i += 1) {
        const [value, next] = random(seed);
        seed = next;
        sum += value;
        check(value >= 0 && value < 1);
    }
    near(sum / 1000, 0.5, 0.05);
});

test("OpenStreetMap is named only for its own tile servers", () => {
    equal(tileAttribution("https://tile.openstreetmap.org/{z}/{x}/{y}.png"), "© OpenStreetMap contributors");
    equal(tileAttribution("https://{s}.tile.openstreetmap.de/{z}/{x}/{y}.png"), "© OpenStreetMap contributors");
    equal(tileAttribution("http://127.0.0.1:8000/{z}/{x}/{y}.png"), "Tiles: 127.0.0.1");
    equal(tileAttribution("https://{s}.maps.example.org/{z}/{x}/{y}.png"), "Tiles: maps.example.org");
    equal(tileAttribution("https://notopenstreetmap.org/{z}/{x}/{y}.png"), "Tiles: notopenstreetmap.org");
});

test("accuracies and altitudes are in metres or in feet", () => {
    equal([lengthIn(5, "metric", 1), lengthIn(42.4, "metric"), lengthIn(5, "imperial", 1), lengthIn(42, "imperial")], ["5.0 m", "42 m", "16 ft", "138 ft"]);
});

test("devices in the same square of a map are a group", () => {
    const points = [[5, 5], [60, 60], [65, 5], [-5, 5]].map(([x, y], item) => ({ x, y, item }));
    equal(clustersOf(points, 64), [[0, 1], [2], [3]]);
    equal(clustersOf([], 64), []);
});

test("an address names the part of the world that a map shows", () => {
    const place = { lat: 52.5, lon: 13.25, zoom: 4.25 };
    equal(placeOf(new URLSearchParams(placeParameters(place))), place);
    equal(placeParameters({ ...place, lon: 373.25 }), placeParameters(place));
    equal(["", "lat=52&lon=13", "lat=91&lon=0&zoom=3", "lat=x&lon=0&zoom=3", "lat=&lon=0&zoom=3"].map((text) => placeOf(new URLSearchParams(text))), [null, null, null, null, null]);
});
