// Images: paths absolute and relative to the program, also on a resumed thread.
import fs from "node:fs";
import path from "node:path";
import { assert, thread, steps, report } from "./lib.mjs";

const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==", "base64");
fs.mkdirSync("pictures");
fs.mkdirSync("elsewhere");
fs.writeFileSync("pictures/a b.png", png);
fs.writeFileSync("=c.png", png);

const ask = (...paths) => [{ type: "text", text: steps(report) }, ...paths.map((p) => ({ type: "local_image", path: p }))];
const t = thread({ workingDirectory: "elsewhere" });
const first = JSON.parse((await t.run(ask("./pictures/a b.png", path.resolve("=c.png")))).finalResponse);
assert.deepEqual(first.images, ["image/png", "image/png"]);
const second = JSON.parse((await t.run(ask("=c.png"))).finalResponse);
assert.deepEqual(second.images, ["image/png"]);

await assert.rejects(t.run(ask("absent.png")), /absent\.png/);
