// Takes a picture of a page: node picture.mjs PAGE OUT SCHEME. Used by make_pictures.py.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [page, out, colorScheme] = process.argv.slice(2);
const { chromium } = createRequire(new URL("../requirements/browser/package.json", import.meta.url))("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.TOOLSTREAM_CHROMIUM, args: ["--no-sandbox"] });
const tab = await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme });
await tab.goto(pathToFileURL(page).href);
await tab.screenshot({ path: out });
await browser.close();
