//! How many tasks a pool may claim now, and whether a suspect may be among them.

use crate::domain::Suspicion;

/// A pool as admission sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// The type's slots.
    pub slots: u32,
    /// Seats of its type in hosts that are ready.
    pub seats: u32,
    /// Leases that are alive.
    pub leases: u32,
    /// Of them, suspects: each has a host of its own, and needs no seat.
    pub suspects: u32,
    /// A task that two owners died with runs on this node.
    pub suspect_on_node: bool,
}

/// Never more in one statement: keeps a claim's commit short.
pub const MOST_AT_ONCE: u32 = 100;

/// Additional hosts for suspects, at most: each may load a model.
pub const MOST_SUSPECTS: u32 = 4;

/// How many to claim.
pub fn most(room: &Room) -> u32 {
    let seated = room.leases.saturating_sub(room.suspects);
    let free = room.slots.saturating_sub(room.leases).min(room.seats.saturating_sub(seated));
    free.min(MOST_AT_ONCE)
}

/// The most suspicious task that may be among them: one suspect a host, one a node after two losses.
pub fn suspects(room: &Room) -> Suspicion {
    match (room.suspects >= MOST_SUSPECTS, room.suspect_on_node) {
        (true, _) => Suspicion::None,
        (false, true) => Suspicion::Host,
        (false, false) => Suspicion::Node,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { slots: 8, seats: 8, leases: 3, suspects: 0, suspect_on_node: false };

    #[test]
    fn a_pool_claims_what_its_ready_hosts_have_seats_for() {
        assert_eq!(most(&ROOM), 5);
        assert_eq!(most(&Room { seats: 4, ..ROOM }), 1);
        assert_eq!(most(&Room { seats: 0, ..ROOM }), 0);
        assert_eq!(most(&Room { leases: 9, ..ROOM }), 0);
    }

    #[test]
    fn a_suspect_uses_a_slot_but_no_seat() {
        assert_eq!(most(&Room { seats: 4, suspects: 2, ..ROOM }), 3);
        assert_eq!(most(&Room { slots: 4, suspects: 2, ..ROOM }), 1);
    }

    #[test]
    fn one_suspect_a_host_and_one_a_node() {
        assert_eq!(suspects(&ROOM), Suspicion::Node);
        assert_eq!(suspects(&Room { suspect_on_node: true, ..ROOM }), Suspicion::Host);
        assert_eq!(suspects(&Room { suspects: MOST_SUSPECTS, ..ROOM }), Suspicion::None);
    }
}
