// openai, Chat Completions, with chunks assembled by index as in the example of its documentation.
import OpenAI from "openai";
import { chatTools, MODEL, PROMPT, runTool, TURNS } from "./two_tools.mjs";

const client = new OpenAI();
const messages = [{ role: "user", content: PROMPT }];
for (let turn = 0; turn < TURNS; turn += 1) {
  const calls = {};
  const stream = await client.chat.completions.create({ model: MODEL, messages, tools: chatTools(), stream: true });
  for await (const chunk of stream) {
    for (const one of chunk.choices[0]?.delta?.tool_calls ?? []) {
      if (!calls[one.index]) calls[one.index] = one;
      else calls[one.index].function.arguments += one.function.arguments;
    }
  }
  const whole = Object.values(calls);
  if (whole.length === 0) break;
  messages.push({
    role: "assistant",
    content: null,
    tool_calls: whole.map((one) => ({ id: one.id, type: "function", function: one.function })),
  });
  for (const one of whole) {
    const content = runTool(one.function.name, one.function.arguments);
    messages.push({ role: "tool", tool_call_id: one.id, content });
  }
}
