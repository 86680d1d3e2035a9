"""How each defect is injected into a healthy stream: rules as data, beside the definitions of the defects."""
