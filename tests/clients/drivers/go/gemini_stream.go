//go:build ignore

// google.golang.org/genai, its stream of responses.
package main

import (
	"context"

	"drivers/twotools"

	"google.golang.org/genai"
)

func main() {
	ctx := context.Background()
	client, err := genai.NewClient(ctx, nil)
	twotools.Must(err)
	functions := &genai.Tool{}
	for _, tool := range twotools.Tools() {
		functions.FunctionDeclarations = append(functions.FunctionDeclarations, &genai.FunctionDeclaration{
			Name:                 tool.Name,
			Description:          tool.Description,
			ParametersJsonSchema: tool.Schema,
		})
	}
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{functions}}
	contents := []*genai.Content{genai.NewContentFromText(twotools.Prompt(), genai.RoleUser)}
	for range twotools.Turns {
		answer := &genai.Content{Role: genai.RoleModel}
		results := &genai.Content{Role: genai.RoleUser}
		for response, err := range client.Models.GenerateContentStream(ctx, "gemini-2.5-flash", contents, config) {
			twotools.Must(err)
			if len(response.Candidates) == 0 || response.Candidates[0].Content == nil {
				continue
			}
			for _, part := range response.Candidates[0].Content.Parts {
				answer.Parts = append(answer.Parts, part)
				if call := part.FunctionCall; call != nil {
					output := map[string]any{"result": twotools.Result(call.Name, call.Args)}
					reply := &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: output}
					results.Parts = append(results.Parts, &genai.Part{FunctionResponse: reply})
				}
			}
		}
		if len(results.Parts) == 0 {
			break
		}
		contents = append(contents, answer, results)
	}
}
