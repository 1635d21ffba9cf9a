import LockstepServe
import Testing

@Test func `problems with the same text are equal`() {
    #expect(
        Problem(status: 404, title: "Not found", detail: "a") == Problem(status: 404, title: "Not found", detail: "a"))
}
