import Glibc

/// libFuzzer over one target: the one that `FUZZ_TARGET` names, else that of the program's own
/// name. Without a name that is a target's it lists them.
@main
struct Fuzz {
    static let target: FuzzTarget? = {
        let name = getenv("FUZZ_TARGET").map { String(cString: $0) }
        let own = CommandLine.arguments[0].split(separator: "/").last.map(String.init)
        return FuzzTarget.named(name ?? own ?? "")
    }()

    static func main() {
        guard target != nil else {
            for target in FuzzTarget.all { print(target.name) }
            return
        }
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(runFuzzer(&count, &arguments) { testOneInput($0, $1) })
    }
}

typealias FuzzCallback = @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32

@_silgen_name("LLVMFuzzerRunDriver")
func runFuzzer(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ callback: FuzzCallback
) -> Int32

/// The name by which others find that a program is a fuzzer.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    do {
        try Fuzz.target?.property(Array(UnsafeBufferPointer(start: data, count: count)))
    } catch {
        fatalError("\(error)")
    }
    return 0
}
