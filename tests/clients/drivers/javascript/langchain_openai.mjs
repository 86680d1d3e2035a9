// @langchain/openai, with its message chunks added up.
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { chatTools, MODEL, PROMPT, runTool, TURNS } from "./two_tools.mjs";

const configuration = { baseURL: process.env.OPENAI_BASE_URL };
const model = new ChatOpenAI({ model: MODEL, configuration }).bindTools(chatTools());
const messages = [new HumanMessage(PROMPT)];
for (let turn = 0; turn < TURNS; turn += 1) {
  let answer;
  for await (const chunk of await model.stream(messages)) answer = answer ? answer.concat(chunk) : chunk;
  if (!answer?.tool_calls?.length) break;
  messages.push(answer);
  for (const one of answer.tool_calls) {
    messages.push(new ToolMessage({ content: runTool(one.name, one.args), tool_call_id: one.id }));
  }
}
