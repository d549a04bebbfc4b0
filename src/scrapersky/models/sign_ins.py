"""Failed sign-ins, counted for all processes together, and browsers that signed in before."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import Float, ForeignKey, Index, LargeBinary, func
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base
from scrapersky.models.ownership import OfTenant


class SignInBucket(Base):
    """A leaky bucket of failed sign-ins of one source, name, pair of both, or device."""

    __tablename__ = "sign_in_buckets"
    __table_args__ = (Index("ix_sign_in_buckets_updated_at", "updated_at"),)

    key: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    """A digest: people type passwords into the field for the name, and it is kept nowhere."""
    level: Mapped[float] = mapped_column(Float)
    """As of `updated_at`; it drains from then on."""
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


class SignInDevice(Base, OfTenant):
    """A browser in which a user signed in with a password: its attempts are counted apart."""

    __tablename__ = "sign_in_devices"
    __table_args__ = (
        Index("ix_sign_in_devices_user_id", "user_id", "last_used_at"),
        Index("ix_sign_in_devices_last_used_at", "last_used_at"),
    )

    token_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_used_at: Mapped[datetime] = mapped_column(server_default=func.now())
