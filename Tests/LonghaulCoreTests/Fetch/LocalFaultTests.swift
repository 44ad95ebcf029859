import Testing

@testable import LonghaulCore
@testable import LonghaulModel

@Suite struct LocalFaultTests {
    @Test(arguments: [
        (true, "that are expected (see --expect); free some space, or correct that with"),
        (false, "that are to come; free some space, then resume"),
    ])
    func aShortageNamesItsNumbers(_ isExpected: Bool, _ words: String) {
        let fault = LocalFault(
            needed: 1 << 40, available: 3 << 30, for: "/a", isExpected: isExpected)
        #expect(fault.code == .noSpace && fault.storageNeed == .space)
        #expect(fault.message.contains("/a lacks 1021 GiB for the 1.0 TiB \(words)"))
        let full = LocalFault(needed: 1, available: 0, for: "/a", isExpected: isExpected)
        #expect(full.message == "the disk that holds /a is full; free some space, then resume")
    }
}
