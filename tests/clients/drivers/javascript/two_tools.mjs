import { appendFileSync } from "node:fs";

// The two tools of every driver, its prompt, and its maximum of turns.
export const TURNS = 8;
export const MODEL = process.env.DRIVER_MODEL ?? "gpt-4.1-mini";
export const PROMPT = process.argv[2] ?? "What is the weather in Oslo, in celsius? Then read notes.txt.";
export const SCHEMAS = {
  get_weather: {
    type: "object",
    properties: { city: { type: "string" }, unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
    required: ["city", "unit"],
    additionalProperties: false,
  },
  read_file: {
    type: "object",
    properties: { path: { type: "string" } },
    required: ["path"],
    additionalProperties: false,
  },
};
export const DESCRIPTIONS = { get_weather: "Get the weather of a city.", read_file: "Read a text file." };

const TOOLS = {
  get_weather: ({ city, unit }) => `Mild in ${city}, 15 degrees ${unit}.`,
  read_file: ({ path }) => `${path} has one line.`,
};

// The file that gets a JSON array for each run of a tool: its name and its arguments.
const RAN = process.env.DRIVER_RAN;

// The result of a call. Throws if its arguments are text, and not JSON.
export function runTool(name, given) {
  const parsed = typeof given === "string" ? JSON.parse(given) : given ?? {};
  if (RAN) appendFileSync(RAN, `${JSON.stringify([name, parsed])}\n`);
  return Object.hasOwn(TOOLS, name) ? TOOLS[name](parsed) : `There is no tool ${name}.`;
}

export const chatTools = () =>
  Object.entries(SCHEMAS).map(([name, parameters]) => ({
    type: "function",
    function: { name, description: DESCRIPTIONS[name], parameters },
  }));
