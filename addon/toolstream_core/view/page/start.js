// Starts the page of a session.

connect();
begin(JSON.parse($("data").textContent));
if (app.doc.generated.live && location.protocol === "http:") updates.follow();
