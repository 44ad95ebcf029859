import Testing

@testable import LonghaulCore

@Suite struct LocalFaultTests {
    @Test(arguments: [
        (true, "that --expect says are to come. Free some space, or correct that with"),
        (false, "that are to come. Free some space, then resume."),
    ])
    func aShortageNamesItsNumbers(_ isExpected: Bool, _ words: String) {
        let fault = LocalFault(
            needed: 1 << 40, available: 70, for: "/a", isExpected: isExpected)
        #expect(fault.code == .noSpace && fault.storageNeed == .space)
        #expect(fault.message.contains("/a has 70 bytes left of the 1099511627776 \(words)"))
        let full = LocalFault(needed: 1, available: 0, for: "/a", isExpected: isExpected)
        #expect(full.message == "The disk that holds /a is full. Free some space, then resume.")
    }
}
