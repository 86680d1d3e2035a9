//go:build ignore

// The client of github.com/ollama/ollama/api.
package main

import (
	"context"
	"encoding/json"

	"drivers/twotools"

	"github.com/ollama/ollama/api"
)

func main() {
	client, err := api.ClientFromEnvironment()
	twotools.Must(err)
	var tools api.Tools
	for _, tool := range twotools.Tools() {
		var parameters api.ToolFunctionParameters
		text, err := json.Marshal(tool.Schema)
		twotools.Must(err)
		twotools.Must(json.Unmarshal(text, &parameters))
		function := api.ToolFunction{Name: tool.Name, Description: tool.Description, Parameters: parameters}
		tools = append(tools, api.Tool{Type: "function", Function: function})
	}
	messages := []api.Message{{Role: "user", Content: twotools.Prompt()}}
	for range twotools.Turns {
		answer := api.Message{Role: "assistant"}
		request := &api.ChatRequest{Model: "qwen3", Messages: messages, Tools: tools}
		err := client.Chat(context.Background(), request, func(response api.ChatResponse) error {
			answer.Content += response.Message.Content
			answer.ToolCalls = append(answer.ToolCalls, response.Message.ToolCalls...)
			return nil
		})
		twotools.Must(err)
		if len(answer.ToolCalls) == 0 {
			break
		}
		messages = append(messages, answer)
		for _, call := range answer.ToolCalls {
			result := twotools.Result(call.Function.Name, call.Function.Arguments.ToMap())
			messages = append(messages, api.Message{
				Role: "tool", Content: result, ToolName: call.Function.Name, ToolCallID: call.ID,
			})
		}
	}
}
