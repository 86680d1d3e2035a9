// openai, Chat Completions, with its streaming helper.
import OpenAI from "openai";
import { chatTools, MODEL, PROMPT, runTool, TURNS } from "./two_tools.mjs";

const client = new OpenAI();
const messages = [{ role: "user", content: PROMPT }];
for (let turn = 0; turn < TURNS; turn += 1) {
  const stream = client.chat.completions.stream({ model: MODEL, messages, tools: chatTools() });
  const { message } = (await stream.finalChatCompletion()).choices[0];
  if (!message.tool_calls?.length) break;
  messages.push(message);
  for (const one of message.tool_calls) {
    const content = runTool(one.function.name, one.function.arguments);
    messages.push({ role: "tool", tool_call_id: one.id, content });
  }
}
