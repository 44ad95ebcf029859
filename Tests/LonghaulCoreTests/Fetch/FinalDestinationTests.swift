import LonghaulCore
import Testing

@Suite struct FinalDestinationTests {
    /// A mark put to the slash is of the name behind it.
    @Test(arguments: ["/out/plain", "/out/\u{301}n"])
    func theServersNameIsBesideTheReservedOne(destination: String) {
        var request = TransferRequest(url: "https://h/n", destination: .file(destination))
        var state = FetchState(id: FetchID(rawValue: 1))
        state.proposedName = "new.txt"
        #expect(state.finalDestination(of: request, at: destination) == destination)
        request.options.remoteName = true
        #expect(state.finalDestination(of: request, at: destination) == "/out/new.txt")
    }

    /// Where the server names nothing, the URL that a redirect led to does.
    @Test(
        arguments: [
            ("http://h/files/real%20name.zip", nil, "real name.zip"),
            ("http://m/x/caf%E9.zip?sign=1", nil, "caf%E9.zip"),
            ("http://h/files/a.zip", "attachment; filename=b.zip", "b.zip"),
            ("http://h/files/a.zip", "attachment", "a.zip"),
            ("http://h/files/", nil, nil), ("https://h:444/other/f", nil, nil),
            ("http://h/f?again", nil, nil),
        ] as [(String, String?, String?)])
    func aRedirectNamesTheFile(target: String, disposition: String?, name: String?) {
        var script = FetchMachineTests.Script()
        var answer = head(200, "Content-Length: 5")
        answer.effectiveURL = target
        if let disposition {
            answer.headers.append(name: "Content-Disposition", value: disposition)
        }
        script.answer(answer)
        #expect(script.machine.state.proposedName == name)
    }
}
