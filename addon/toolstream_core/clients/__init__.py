"""How clients put the fragments of calls together: models of clients, which model explains one, what helps it."""
