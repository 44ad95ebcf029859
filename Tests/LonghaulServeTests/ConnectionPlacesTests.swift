import Testing

@testable import LonghaulServe

/// Who has a connection when there are more clients than places.
@Suite struct ConnectionPlacesTests {
    /// As many places as connections at the beginning, and 100 bytes.
    private final class Table {
        private var places: ConnectionPlaces
        private(set) var numbers: [Int] = []

        /// `nil` = the connection is as it was accepted.
        init(_ standings: ConnectionPlaces.Standing?...) {
            places = ConnectionPlaces(countMax: standings.count, bytesMax: 100)
            for _ in standings { numbers += [places.open()?.number ?? -1] }
            for (index, standing) in standings.enumerated() {
                if let standing { set(index, standing) }
            }
        }

        func set(_ index: Int, _ standing: ConnectionPlaces.Standing) {
            places.set(numbers[index], standing)
        }

        /// The index of the connection that has to go; -1 = none has to, `nil` = there is no place.
        func open() -> Int? {
            guard let opened = places.open() else { return nil }
            numbers.append(opened.number)
            return opened.closing.map { closing in numbers.firstIndex(of: closing) ?? -2 } ?? -1
        }

        func close(_ index: Int) { places.close(numbers[index]) }

        func received(_ count: Int, on index: Int) -> [Int] {
            places.received(count, on: numbers[index]).map { numbers.firstIndex(of: $0) ?? -2 }
        }

        func forgetBytes(of index: Int) { places.forgetBytes(of: numbers[index]) }
    }

    @Test func theOldestStrangerGoesFirst() {
        let table = Table(.idle, nil, nil, .answering)
        #expect(table.open() == 1)
        #expect(table.open() == 2)
        #expect(table.open() == 4)
    }

    @Test func knownClientsStayBesideStrangers() {
        let table = Table(.idle, .answering, .idle, nil)
        for number in 3..<100 { #expect(table.open() == number) }
    }

    @Test func amongKnownClientsTheLongestIdleGoes() {
        let table = Table(.idle, .idle, .answering)
        table.set(0, .idle)
        #expect(table.open() == 1)
    }

    @Test func anAnswerThatIsDueKeepsThePlace() {
        let table = Table(.answering, .answering)
        #expect(table.open() == nil)
        table.close(0)
        #expect(table.open() == -1)
    }

    @Test func theLargestStrangerGoesForItsBytes() {
        let table = Table(nil, nil, .idle)
        #expect(table.received(40, on: 0) == [])
        #expect(table.received(50, on: 1) == [])
        #expect(table.received(20, on: 2) == [1])
        #expect(table.received(40, on: 2) == [])
        // A known client may have more than is kept for all.
        #expect(table.received(41, on: 2) == [0])
        #expect(table.received(500, on: 2) == [])
        table.forgetBytes(of: 2)
        #expect(table.open() == -1)
        #expect(table.received(100, on: 3) == [])
        #expect(table.received(1, on: 3) == [3])
    }

    @Test func aClosedConnectionCountsNoMore() {
        let table = Table(nil, nil)
        #expect(table.received(90, on: 0) == [])
        table.close(0)
        table.set(0, .answering)
        #expect(table.received(90, on: 0) == [])
        #expect(table.received(90, on: 1) == [])
        #expect(table.open() == -1)
    }
}
