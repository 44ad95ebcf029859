import LonghaulCore
import LonghaulTestValues
import Testing

@Suite struct PortableNameTests {
    @Test(arguments: [
        "a", "report.pdf", "a.tar.gz", ".hidden", "café", " a", "a b", "console", "con-1", "lpt0",
        "com10", "nul_", "x.con", String(repeating: "n", count: 120), "(1)", "~a~",
        "a+b,c;d=[e]&#%'",
    ])
    func staysAsItIs(_ name: String) {
        #expect(FileNaming.isPortable(name))
        #expect(FileNaming.portable(name) == name)
    }

    @Test(arguments: [
        ("a:b", "a_b"), ("12:30.log", "12_30.log"), ("a<b>c\"d|e?f*g\\h", "a_b_c_d_e_f_g_h"),
        ("a\u{1}b\u{7F}", "a_b_"), ("a.", "a_"), ("a ", "a_"), ("a. .", "a___"), ("...", "___"),
        ("CON", "CON_"), ("con.txt", "con_.txt"), ("Lpt1 .log", "Lpt1_ .log"), ("NUL ", "NUL_"),
        ("aux.tar.gz", "aux_.tar.gz"), ("Com9", "Com9_"), ("prn.", "prn_"),
        (String(repeating: "n", count: 200) + ".iso", String(repeating: "n", count: 116) + ".iso"),
        (String(repeating: "ü", count: 100), String(repeating: "ü", count: 60)),
        (String(repeating: ":", count: 130), String(repeating: "_", count: 120)),
        // What is cut off is not what was added.
        (
            "com1" + String(repeating: " ", count: 120) + ".iso",
            "com1_" + String(repeating: " ", count: 111) + ".iso"
        ),
    ])
    func isMended(_ name: String, _ portable: String) {
        #expect(!FileNaming.isPortable(name))
        #expect(FileNaming.portable(name) == portable)
        #expect(FileNaming.isPortable(portable))
    }

    @Test func anyNameCanBeMended() {
        var random = SeededRandom(seed: 20)
        let letters: [Character] = Array("a.: ?conCON1lpt_\u{1}üß😀")
        for _ in 0..<2_000 {
            let count = Int.random(in: 1...150, using: &random)
            let name = String((0..<count).map { _ in letters.randomElement(using: &random)! })
            let portable = FileNaming.portable(name)
            #expect(FileNaming.isPortable(portable), "\(name.debugDescription)")
            #expect(FileNaming.portable(portable) == portable)
        }
    }

    @Test func whatTakesPeculiarNamesTakesAny() {
        #expect(!FileNaming.peculiar.contains(where: FileNaming.isPortable))
    }
}
