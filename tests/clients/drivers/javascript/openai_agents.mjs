// @openai/agents: its runner, streaming. The API is the argument after the prompt.
import { Agent, run, setOpenAIAPI, setTracingDisabled, tool } from "@openai/agents";
import { DESCRIPTIONS, MODEL, PROMPT, runTool, SCHEMAS, TURNS } from "./two_tools.mjs";

setTracingDisabled(true);
setOpenAIAPI(process.argv[3]);
const tools = Object.entries(SCHEMAS).map(([name, parameters]) =>
  tool({ name, description: DESCRIPTIONS[name], parameters, execute: (given) => runTool(name, given) }));
const agent = new Agent({ name: "Assistant", model: MODEL, tools });
const answer = await run(agent, PROMPT, { stream: true, maxTurns: TURNS });
for await (const _event of answer);
await answer.completed;
