// openai, Responses, with its streaming helper.
import OpenAI from "openai";
import { DESCRIPTIONS, MODEL, PROMPT, runTool, SCHEMAS, TURNS } from "./two_tools.mjs";

const client = new OpenAI();
const tools = Object.entries(SCHEMAS).map(([name, parameters]) => ({
  type: "function", name, description: DESCRIPTIONS[name], parameters, strict: true,
}));
const input = [{ role: "user", content: PROMPT }];
for (let turn = 0; turn < TURNS; turn += 1) {
  const stream = client.responses.stream({ model: MODEL, input, tools, store: false });
  const calls = (await stream.finalResponse()).output.filter((item) => item.type === "function_call");
  if (calls.length === 0) break;
  for (const { call_id, name, arguments: given } of calls) {
    input.push({ type: "function_call", call_id, name, arguments: given });
    input.push({ type: "function_call_output", call_id, output: runTool(name, given) });
  }
}
