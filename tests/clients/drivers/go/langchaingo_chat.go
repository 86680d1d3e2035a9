//go:build ignore

// langchaingo, its OpenAI model with a streaming function.
package main

import (
	"context"
	"os"

	"drivers/twotools"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"
)

func main() {
	ctx := context.Background()
	options := []openai.Option{openai.WithModel(twotools.Model())}
	if base := os.Getenv("OPENAI_BASE_URL"); base != "" {
		options = append(options, openai.WithBaseURL(base))
	}
	model, err := openai.New(options...)
	twotools.Must(err)
	var tools []llms.Tool
	for _, tool := range twotools.Tools() {
		function := &llms.FunctionDefinition{Name: tool.Name, Description: tool.Description, Parameters: tool.Schema}
		tools = append(tools, llms.Tool{Type: "function", Function: function})
	}
	messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, twotools.Prompt())}
	quiet := func(context.Context, []byte) error { return nil }
	for range twotools.Turns {
		response, err := model.GenerateContent(ctx, messages, llms.WithTools(tools), llms.WithStreamingFunc(quiet))
		twotools.Must(err)
		calls := response.Choices[0].ToolCalls
		if len(calls) == 0 {
			break
		}
		answer := llms.MessageContent{Role: llms.ChatMessageTypeAI}
		for _, call := range calls {
			answer.Parts = append(answer.Parts, call)
		}
		messages = append(messages, answer)
		for _, call := range calls {
			result, err := twotools.Run(call.FunctionCall.Name, call.FunctionCall.Arguments)
			twotools.Must(err)
			messages = append(messages, llms.MessageContent{
				Role: llms.ChatMessageTypeTool,
				Parts: []llms.ContentPart{llms.ToolCallResponse{
					ToolCallID: call.ID, Name: call.FunctionCall.Name, Content: result,
				}},
			})
		}
	}
}
